-- What prepare_writer.sql sets for a session, for one transaction: behind a pooler each may be at another session.
SELECT set_config('synchronous_commit',
                  CASE WHEN NOT %(durable)b::bool THEN 'off'
                       WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
                       ELSE current_setting('synchronous_commit') END, true),
       set_config('lock_timeout', CASE WHEN current_setting('lock_timeout') = '0' THEN %(lock_timeout)b::text
                                       ELSE current_setting('lock_timeout') END, true),
       set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true),
       set_config('enable_memoize', 'off', true),
       set_config('jit', 'off', true)
