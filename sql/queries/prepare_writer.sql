-- A recorder's session: every row is found by its key, whatever the statistics say while the tables are still small.
SELECT set_config('synchronous_commit',
                  CASE WHEN NOT %(durable)s THEN 'off'
                       WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
                       ELSE current_setting('synchronous_commit') END, false),
       set_config('lock_timeout', CASE WHEN current_setting('lock_timeout') = '0' THEN %(lock_timeout)s
                                       ELSE current_setting('lock_timeout') END, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_hashjoin', 'off', false),
       set_config('enable_mergejoin', 'off', false),
       set_config('enable_memoize', 'off', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('jit', 'off', false),
       set_config('idle_session_timeout', '0', false) -- a run is alive during a long call too
