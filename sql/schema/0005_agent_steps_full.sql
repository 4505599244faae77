-- Every step with its input whole, for psql. A long prompt is put together from the rows that it is a difference to;
-- its input is NULL where one of them is missing or does not fit. What jsonb loses (the order of keys) stays lost.
-- Whoever may read agent_steps may read this, and nobody else.

CREATE OR REPLACE VIEW agent_steps_full WITH (security_invoker = true) AS
SELECT s.id, s.run_id, s.step_number, s.step_type,
       CASE WHEN s.input_base IS NULL THEN s.input ELSE whole.input END AS input,
       s.output, s.created_at, s.seed, s.agent, s.name, s.parent_step, s.started_at, s.finished_at, s.finished_order,
       s.finished_before, s.started_before, s.error,
       CASE WHEN s.input_base IS NULL THEN s.input_exact END AS input_exact,
       s.output_exact, s.tokens_in, s.tokens_out, s.finish_reason, s.call_hash
FROM agent_steps AS s
LEFT JOIN LATERAL (
    WITH RECURSIVE chain AS ( -- from the step back to one that is whole
        SELECT 0 AS depth, s.step_number AS number, s.input, s.input_base AS base, s.input_keep AS keep,
               s.input_list AS list, coalesce(s.input_removed, '[]') AS removed
        WHERE s.input_base IS NOT NULL
        UNION ALL
        SELECT chain.depth + 1, b.*
        FROM chain
        CROSS JOIN LATERAL (
            SELECT step_number, input, input_base, input_keep, input_list, coalesce(input_removed, '[]')
            FROM agent_steps
            WHERE run_id = s.run_id AND step_number = chain.base AND step_number < chain.number
            ORDER BY id
            LIMIT 1
        ) AS b
    ), built AS ( -- and from there forward again
        SELECT depth, input
        FROM chain
        WHERE base IS NULL
        UNION ALL
        SELECT part.depth,
               CASE WHEN jsonb_typeof(built.input) = 'object' AND jsonb_typeof(built.input -> part.list) = 'array'
                     AND jsonb_typeof(part.input) = 'object' AND jsonb_typeof(part.input -> part.list) = 'array'
                     AND jsonb_typeof(part.removed) = 'array' AND kept.count = part.keep
                    THEN (built.input - ARRAY(SELECT name #>> '{}' FROM jsonb_array_elements(part.removed) AS gone (name)
                                          WHERE jsonb_typeof(name) = 'string'))
                         || part.input
                         || jsonb_build_object(part.list, kept.items || (part.input -> part.list))
               END
        FROM built
        JOIN chain AS part ON part.depth = built.depth - 1
        CROSS JOIN LATERAL (
            SELECT count(*) AS count, coalesce(jsonb_agg(item ORDER BY place), '[]') AS items
            FROM (
                SELECT item, place
                FROM jsonb_array_elements(CASE WHEN jsonb_typeof(built.input -> part.list) = 'array'
                                               THEN built.input -> part.list ELSE '[]' END)
                     WITH ORDINALITY AS old (item, place)
                WHERE NOT part.removed @> to_jsonb(place - 1)
                ORDER BY place
                LIMIT greatest(part.keep, 0)
            ) AS old
        ) AS kept
    )
    SELECT input
    FROM built
    WHERE depth = 0
) AS whole ON true;

INSERT INTO stepwell_migrations (version) VALUES (5) ON CONFLICT DO NOTHING;
