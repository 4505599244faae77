-- A run that began while its database took nothing. The steps of its file have no snapshots; those that follow may.
INSERT INTO agent_runs (run_id, name, tags, started_at, system_identifier, timeline, snapshot, seed, random, zone,
                        connection)
VALUES (%(run_id)s, %(name)s, %(tags)s::jsonb, %(started_at)s, %(system)s::int8, %(timeline)s::int,
        pg_current_snapshot(), %(seed)s::int8, %(random)s::jsonb, %(zone)s, %(connection)s::jsonb)
ON CONFLICT (run_id) DO NOTHING
