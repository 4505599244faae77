-- Write a batch of steps in one go: those that finish, then those that begin, so that a step that waited for another to
-- end is seen to begin after it. A step that begins with an outcome has it from the start, as a state update does.
-- There is an array for each column, of one element a run, a step that finishes (done_…) or a step that begins; one that
-- is too short is filled up with NULLs. The runs are in the order of their ids, so that two batches never wait for each
-- other, and a step names its run by its place there. `nth` counts the steps of a run, `nth_done` those with an outcome.
-- A run that is not there gets nothing, nor does one that has more steps than `known`. Returns the place of each of the
-- others, and how many steps it had. Divides by zero, and so writes nothing at all, where a step that was to finish is
-- not there or is finished already: such steps have to be sent one by one. `lazily`: without waiting for the disk.
-- `seen` is what read_sight.sql gave on the agent's own connection, under the names of columns (those of before its call
-- also for after it); it counts if that leads to this very server and database. Else the snapshot is that of this
-- statement; or none, where `seen` is empty: the moment has passed.
WITH run AS (
    UPDATE agent_runs AS r
    SET steps = r.steps + share.begun,
        finished = r.finished + share.done + share.begun_done,
        loop = coalesce(share.loop::jsonb, r.loop),
        heartbeat = CASE WHEN r.heartbeat IS NOT NULL THEN now() END,
        agents = CASE WHEN share.agents IS NULL OR share.agents::text[] <@ r.agents THEN r.agents
                      ELSE r.agents || ARRAY(SELECT agent
                                             FROM unnest(share.agents::text[]) WITH ORDINALITY AS new (agent, place)
                                             WHERE agent <> ALL (r.agents)
                                             ORDER BY place) END
    FROM unnest(%(runs)s::uuid[], %(done)s::int8[], %(begun)s::int8[], %(begun_done)s::int8[], %(known)s::int8[],
                %(loops)s::text[], %(agents)s::text[]) WITH ORDINALITY
        AS share (run_id, done, begun, begun_done, known, loop, agents, place)
    WHERE r.run_id = share.run_id AND (share.known IS NULL OR share.known = r.steps)
    RETURNING share.place, share.run_id, share.done, r.steps - share.begun AS steps,
              r.finished - share.done - share.begun_done AS finished
), base AS MATERIALIZED ( -- arrays, so that a step finds what it needs at once
    SELECT array_agg(place) AS places, array_agg(run_id) AS run_ids, array_agg(done) AS done, array_agg(steps) AS steps,
           array_agg(finished) AS finished, pg_current_snapshot() AS snapshot,
           concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), hashtextextended(current_database(), 0)) AS server
    FROM run
), ended AS (
    UPDATE agent_steps AS s
    SET output = done.output::jsonb, output_exact = done.output_exact::jsonb, error = done.error::jsonb,
        finished_at = done.finished_at, finished_order = base.finished[at] + done.nth, started_before = base.steps[at],
        tokens_in = done.tokens_in, tokens_out = done.tokens_out, finish_reason = done.finish_reason,
        call_hash = done.call_hash, form = done.form, random_after = done.random_after::jsonb,
        snapshot_after = coalesce((own).snapshot_before, CASE WHEN seen = '' THEN NULL ELSE base.snapshot END),
        own_after = (own).own_before, position_after = (own).position_before,
        backend = CASE WHEN coalesce(s.backend = (own).backend, true) THEN coalesce(s.backend, (own).backend) END
    FROM base
    CROSS JOIN unnest(%(done_run)s::int8[], %(done_nth)s::int8[], %(done_run_id)s::uuid[], %(done_step_number)s::int8[],
                      %(done_output)s::text[], %(done_output_exact)s::text[], %(done_error)s::text[],
                      %(done_finished_at)s::timestamptz[], %(done_tokens_in)s::int8[], %(done_tokens_out)s::int8[],
                      %(done_finish_reason)s::text[], %(done_call_hash)s::int8[], %(done_form)s::text[],
                      %(done_random_after)s::text[], %(done_seen)s::text[])
        AS done (run, nth, run_id, step_number, output, output_exact, error, finished_at, tokens_in, tokens_out, finish_reason,
                 call_hash, form, random_after, seen)
    CROSS JOIN LATERAL (
        SELECT array_position(base.places, done.run) AS at,
               CASE WHEN seen <> '' THEN
                    CASE WHEN seen::jsonb ->> 'server' = base.server
                         THEN jsonb_populate_record(NULL::agent_steps, seen::jsonb) END END AS own
        OFFSET 0
    ) AS found
    WHERE s.run_id = done.run_id AND s.step_number = done.step_number AND s.finished_at IS NULL AND at IS NOT NULL
    RETURNING s.step_number
), added AS (
    INSERT INTO agent_steps (run_id, step_number, step_type, agent, name, parent_step, seed, started_at, input,
                             input_exact, input_base, input_keep, input_list, input_removed, output, output_exact,
                             finished_at, finished_before, finished_order, started_before,
                             snapshot_before, snapshot_after, own_before, position_before, backend, lane, drawn)
    SELECT base.run_ids[at], base.steps[at] + nth, step_type, agent, name, parent_step, seed, started_at, input::jsonb,
           input_exact::jsonb, input_base, input_keep, input_list, input_removed::jsonb, output::jsonb, output_exact::jsonb,
           CASE WHEN output IS NOT NULL THEN started_at END,
           base.finished[at] + base.done[at] + nth_done - CASE WHEN output IS NOT NULL THEN 1 ELSE 0 END,
           CASE WHEN output IS NOT NULL THEN base.finished[at] + base.done[at] + nth_done END,
           CASE WHEN output IS NOT NULL THEN base.steps[at] + nth END,
           taken.snapshot, CASE WHEN output IS NOT NULL THEN taken.snapshot END,
           (own).own_before, (own).position_before, (own).backend, lane, drawn::jsonb
    FROM base
    CROSS JOIN unnest(%(run)s::int8[], %(nth)s::int8[], %(nth_done)s::int8[], %(step_type)s::text[], %(agent)s::text[],
                      %(name)s::text[], %(parent_step)s::int8[], %(seed)s::int8[], %(started_at)s::timestamptz[],
                      %(input)s::text[], %(input_exact)s::text[], %(lane)s::int8[], %(drawn)s::text[], %(output)s::text[],
                      %(output_exact)s::text[], %(input_base)s::int8[], %(input_keep)s::int8[], %(input_list)s::text[],
                      %(input_removed)s::text[], %(seen)s::text[])
        AS step (run, nth, nth_done, step_type, agent, name, parent_step, seed, started_at, input, input_exact, lane, drawn,
                 output, output_exact, input_base, input_keep, input_list, input_removed, seen)
    CROSS JOIN LATERAL (
        SELECT array_position(base.places, step.run) AS at,
               CASE WHEN seen <> '' THEN
                    CASE WHEN seen::jsonb ->> 'server' = base.server
                         THEN jsonb_populate_record(NULL::agent_steps, seen::jsonb) END END AS own
        OFFSET 0
    ) AS found
    CROSS JOIN LATERAL (
        SELECT coalesce((own).snapshot_before, CASE WHEN seen = '' THEN NULL ELSE base.snapshot END) AS snapshot
    ) AS taken
    WHERE at IS NOT NULL
)
SELECT place, steps, CASE WHEN %(lazily)s::bool THEN set_config('synchronous_commit', 'off', true) END
FROM run
WHERE 1 / CASE WHEN (SELECT coalesce(sum(done), 0) FROM run) = (SELECT count(*) FROM ended) THEN 1 ELSE 0 END = 1
