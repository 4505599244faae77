-- How long this transaction waits for a lock.
SELECT set_config('lock_timeout', %(lock_timeout)s, true)
