-- What the steps after %(after)s up to %(through)s come to, in stretches of %(every)s rows, per agent; what is left of them
-- at the end is too little for a stretch. Settled are those of a stretch whose place in the order of finishing is not
-- above its last number. `newest` is the last transaction that wrote one of the rows.
WITH RECURSIVE stretch AS (
    SELECT NULL::int8 AS after, %(after)s::int8 AS last
    UNION ALL
    SELECT last, (
        SELECT step_number::int8 AS number -- under the column's name it would be what is sorted by, and no index do it
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number > last AND step_number <= %(through)s
        ORDER BY step_number
        OFFSET %(every)s - 1
        LIMIT 1
    )
    FROM stretch
    WHERE last IS NOT NULL
)
SELECT stretch.last, folded.*
FROM stretch
CROSS JOIN (
    SELECT NULL::text AS agent, NULL::text AS name, NULL::int AS finished_order, NULL::int AS tokens_in,
           NULL::int AS tokens_out, NULL::jsonb AS error
) AS absent
CROSS JOIN LATERAL (
    SELECT agent, count(*) AS rows,
           count(*) FILTER (WHERE settled) AS steps,
           max(packed) FILTER (WHERE settled AND step_type = 'llm_call') AS response,
           max(packed) FILTER (WHERE settled AND step_type = 'tool_call') AS result,
           sum(tokens_in) FILTER (WHERE settled) AS tokens_in,
           sum(tokens_out) FILTER (WHERE settled) AS tokens_out,
           bool_or(finished_order IS NOT NULL) AS ordered,
           array_agg(step_number) FILTER (WHERE NOT settled) AS loose,
           array_agg(step_number) FILTER (WHERE settled AND is_state AND name IS DISTINCT FROM 'shared') AS own,
           array_agg(step_number) FILTER (WHERE settled AND is_state AND name = 'shared') AS shared,
           pg_snapshot_xmax(pg_current_snapshot())::text::int8 + age(pg_snapshot_xmax(pg_current_snapshot())::xid)
               - min(age(written))::int8 AS newest
    FROM (
        SELECT agent, name, step_number, step_type, finished_order, tokens_in, tokens_out, xmin AS written,
               (output IS NOT NULL OR error IS NOT NULL) AND coalesce(finished_order, step_number) <= last AS settled,
               coalesce(finished_order, step_number)::int8 * 4294967296 + step_number AS packed,
               step_type = 'state_update' AND output IS NOT NULL AS is_state
        FROM agent_steps
        WHERE run_id = %(run_id)s AND step_number > after AND step_number <= last
    ) AS step
    GROUP BY agent
) AS folded
ORDER BY stretch.last
