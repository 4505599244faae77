-- The step itself, the counters that bound its two worlds, and its payloads; of several rows with one number, the first.
-- A payload that takes more than %(most)s bytes as it is stored, or %(longest)s unpacked, is not read; the last two columns
-- say how many it takes stored. One of %(surely)s bytes is taken to be short enough unpacked.
-- With them comes which session of which server this is, and what it sees; NULL on a standby, whose snapshots do not say
-- all that is in them.
SELECT step.*, CASE WHEN NOT pg_is_in_recovery() THEN concat_ws(' ', pg_backend_pid(), pg_postmaster_start_time()) END,
       pg_current_snapshot()::text
FROM (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS parent_step,
           NULL::timestamptz AS started_at, NULL::timestamptz AS finished_at, NULL::int AS finished_order,
           NULL::int AS finished_before, NULL::int AS started_before, NULL::jsonb AS error,
           NULL::int AS tokens_in, NULL::int AS tokens_out, NULL::text AS finish_reason,
           NULL::jsonb AS input_exact, NULL::jsonb AS output_exact, NULL::int AS input_base, NULL::int AS input_keep,
           NULL::text AS input_list, NULL::jsonb AS input_removed, NULL::text AS snapshot_before,
           NULL::text AS snapshot_after, NULL::text AS own_before, NULL::text AS own_after, NULL::text AS position_before,
           NULL::text AS position_after, NULL::text AS backend
) AS absent
CROSS JOIN LATERAL (
    SELECT step_number, step_type, output IS NOT NULL AS has_output, created_at, seed, agent, name, parent_step,
           started_at, finished_at, finished_order,
           CASE WHEN error IS NOT NULL
                THEN concat_ws(': ', error ->> 'type', nullif(error ->> 'message', '')) END AS error,
           tokens_in, tokens_out, finish_reason, finished_before, started_before,
           CASE WHEN given.read THEN input END::text, CASE WHEN given.read THEN input_exact END::text,
           input_base, input_keep, input_list, input_removed::text,
           CASE WHEN gave.read THEN output END::text, CASE WHEN gave.read THEN output_exact END::text,
           error::text AS error_text,
           CASE WHEN NOT given.read THEN given.bytes END, CASE WHEN NOT gave.read THEN gave.bytes END,
           snapshot_before::text, own_before::text, position_before::text,
           snapshot_after::text, own_after::text, position_after::text, backend::text
    FROM agent_steps
    CROSS JOIN LATERAL (
        -- OFFSET 0 has it worked out once. `#> '{}'` is the value itself, unpacked: its size as it is in memory.
        SELECT bytes, CASE WHEN bytes > %(most)s THEN false
                           WHEN bytes <= %(surely)s THEN true
                           ELSE pg_column_size(input #> '{}') + coalesce(pg_column_size(input_exact #> '{}'), 0)
                                <= %(longest)s END AS read
        FROM (SELECT coalesce(pg_column_size(input), 0) + coalesce(pg_column_size(input_exact), 0)) AS stored (bytes)
        OFFSET 0
    ) AS given
    CROSS JOIN LATERAL (
        -- OFFSET 0 has it worked out once. `#> '{}'` is the value itself, unpacked: its size as it is in memory.
        SELECT bytes, CASE WHEN bytes > %(most)s THEN false
                           WHEN bytes <= %(surely)s THEN true
                           ELSE pg_column_size(output #> '{}') + coalesce(pg_column_size(output_exact #> '{}'), 0)
                                <= %(longest)s END AS read
        FROM (SELECT coalesce(pg_column_size(output), 0) + coalesce(pg_column_size(output_exact), 0)) AS stored (bytes)
        OFFSET 0
    ) AS gave
    WHERE run_id = %(run_id)s AND step_number = %(number)s
    ORDER BY id
    LIMIT 1
) AS step
