-- Say why a run is worth keeping; what is said at its end does not overrule it.
UPDATE agent_runs SET keep = %(why)s WHERE run_id = %(run_id)s
