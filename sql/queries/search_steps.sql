-- Steps in whose payload, error or name a text occurs; %(needles)s are its spellings, any of which will do.
-- %(fold)s: upper and lower case are the same; of a text of 50 MB and more only for A to Z, since folding the others takes
-- four times its memory. Of a prompt that is stored as a difference only what is new is looked at.
SELECT step_number, step_type, agent, in_input, in_output, call_hash, input_base
FROM (
    SELECT step_number, step_type, agent, id, call_hash, input_base,
           EXISTS (SELECT FROM unnest(%(needles)s::text[]) AS needle
                   WHERE strpos(given, CASE WHEN %(fold)s THEN lower(needle) ELSE needle END) > 0) AS in_input,
           EXISTS (SELECT FROM unnest(%(needles)s::text[]) AS needle
                   WHERE strpos(gave, CASE WHEN %(fold)s THEN lower(needle) ELSE needle END) > 0) AS in_output
    FROM (
        SELECT step.step_number, step.step_type, step.agent, step.id, step.call_hash, step.input_base,
               CASE WHEN NOT %(fold)s THEN given
                    WHEN octet_length(given) < 50000000 THEN lower(given)
                    ELSE lower(given COLLATE "C") END AS given,
               CASE WHEN NOT %(fold)s THEN gave
                    WHEN octet_length(gave) < 50000000 THEN lower(gave)
                    ELSE lower(gave COLLATE "C") END AS gave
        FROM (SELECT NULL::text AS agent, NULL::text AS name, NULL::jsonb AS error, NULL::bigint AS call_hash,
                     NULL::int AS input_base) AS absent
        CROSS JOIN LATERAL (
            SELECT step_number, step_type, agent, id, call_hash, input_base, coalesce(input::text, '') AS given,
                   concat_ws(chr(31), name, output::text, error::text) AS gave
            FROM agent_steps
            WHERE run_id = %(run_id)s
            OFFSET 0  -- has each text made once
        ) AS step
        OFFSET 0  -- folded once
    ) AS folded
    OFFSET 0  -- and looked through once
) AS found
WHERE in_input OR in_output OR step_type = 'llm_call'
ORDER BY step_number, id
