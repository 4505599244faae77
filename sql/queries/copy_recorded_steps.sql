-- The steps of a run of another database.
COPY agent_steps (run_id, step_number, step_type, input, output, created_at, seed, agent, name, parent_step, started_at,
                  finished_at, finished_order, finished_before, started_before, error, input_exact, output_exact,
                  tokens_in, tokens_out, finish_reason, call_hash, lane, drawn, random_after, form, input_base, input_keep,
                  input_list, input_removed)
FROM STDIN
