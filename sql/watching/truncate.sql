-- TRUNCATE removes rows that no row trigger sees. Before it they are logged, up to a size; after it there is new storage.
CREATE OR REPLACE FUNCTION {truncate}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp {pins} AS $stepwell$
#variable_conflict use_column
DECLARE
    x xid8 := pg_current_xact_id();
    who text := coalesce(nullif(current_setting('application_name'), ''), session_user);
    many bigint;
BEGIN
    BEGIN
        INSERT INTO stepwell_log.shapes (relation, xid, why, shape)
        VALUES ({watched}, x, lower(tg_when) || ' truncate', stepwell_log.shape({watched}));
        IF tg_when = 'AFTER' THEN
            RETURN NULL;
        ELSIF (SELECT relkind FROM pg_class WHERE oid = tg_relid) = 'p' THEN
            -- Its partitions have triggers of their own, but for those that were added later.
            IF EXISTS (SELECT FROM pg_partition_tree(tg_relid) WHERE isleaf AND NOT EXISTS (
                           SELECT FROM pg_trigger WHERE tgrelid = relid AND tgname = '!stepwell truncate')) THEN
                PERFORM stepwell_log.lose({watched}, 'TRUNCATE of partitions that were added later');
            END IF;
        ELSIF pg_relation_size(tg_relid) > {most} THEN
            PERFORM stepwell_log.lose({watched}, 'TRUNCATE of ' || pg_size_pretty(pg_relation_size(tg_relid)));
        ELSE
            EXECUTE format({copy}, tg_table_schema, tg_table_name) USING x, tg_relid, who;
            GET DIAGNOSTICS many = ROW_COUNT;
            IF many > 0 THEN
                PERFORM set_config('stepwell.written', currval('stepwell_log.position')::text, true);
            END IF;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        PERFORM stepwell_log.lose({watched}, 'TRUNCATE could not be logged, SQLSTATE ' || sqlstate);
    END;
    RETURN NULL;
END $stepwell$
