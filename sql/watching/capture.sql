-- Logs each row that is written. Nothing here may fail or write within a block that catches: the first would break the
-- owner's statement, the second would spend a transaction number for each row. Every name is qualified or pinned.
-- The setting stepwell.written says how far this transaction has got in the logs; like its rows, it goes with a savepoint.
CREATE OR REPLACE FUNCTION {capture}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp {pins} AS $stepwell$
#variable_conflict use_column
DECLARE
    x xid8 := pg_current_xact_id();
    place bigint;
    written text;
    who text := current_setting('application_name');
    image text[];
    lost text;
    strange boolean := false; -- columns are not what they were
    known boolean := has_column_privilege({watched}, ({many} + 1)::int2, 'SELECT') IS NULL -- no such column
                     AND has_column_privilege({watched}, ({many} + 2)::int2, 'SELECT') IS NULL;
    {declare_old}
    {declare_new}
BEGIN
    IF has_table_privilege({log_oid}, 'INSERT') IS NOT TRUE OR has_sequence_privilege({position}, 'USAGE') IS NOT TRUE THEN
        PERFORM stepwell_log.lose({watched}, 'its log could not be written');
        RETURN NULL;
    END IF;
    BEGIN
        IF tg_op <> 'INSERT' THEN
            {take_old}
        END IF;
        IF tg_op <> 'DELETE' THEN
            {take_new}
        END IF;
    EXCEPTION WHEN OTHERS THEN
        strange := true;
    END;
    IF strange OR (known IS NOT TRUE AND tg_op <> 'INSERT') THEN
        BEGIN
            IF tg_op <> 'INSERT' THEN
                image := stepwell_log.image({watched}, tg_relid, old);
                {key_of_image}
            END IF;
            IF strange AND tg_op <> 'DELETE' THEN
                {key_of_new}
            END IF;
        EXCEPTION WHEN OTHERS THEN
            lost := 'a row could not be read, SQLSTATE ' || sqlstate;
        END;
    END IF;
    IF lost IS NOT NULL THEN
        PERFORM stepwell_log.lose({watched}, lost);
        RETURN NULL;
    END IF;
    IF who = '' THEN
        who := session_user;
    END IF;
    IF image IS NOT NULL THEN -- until the table is watched again, which takes it into columns
        PERFORM stepwell_log.lose({watched}, {changed});
    END IF;
    place := nextval('stepwell_log.position');
    written := set_config('stepwell.written', place::text, true);
    IF tg_op = 'INSERT' THEN
        INSERT INTO {log} (position, xid, dead, new_xid, new_place, part, backend, who, {key})
        VALUES (place, x, false, new.xmin, new.ctid, {part}, pg_backend_pid(), who, {new_key});
    ELSIF tg_op = 'DELETE' THEN
        INSERT INTO {log} (position, xid, dead, old_xid, old_place, part, backend, who, image, {columns})
        VALUES (place, x, CASE WHEN age(old.xmin) > age(x::xid) THEN true END, old.xmin, old.ctid, {part}, pg_backend_pid(), who,
                image, {old_columns});
    ELSIF ({old_key}) IS NOT DISTINCT FROM ({new_key}) THEN
        INSERT INTO {log} (position, xid, dead, old_xid, new_xid, old_place, new_place, part, backend, who, image, {columns})
        VALUES (place, x, CASE WHEN age(old.xmin) > age(x::xid) THEN true END, old.xmin, new.xmin, old.ctid, new.ctid, {part},
                pg_backend_pid(), who, image, {old_columns});
    ELSE
        INSERT INTO {log} (position, xid, dead, old_xid, old_place, part, backend, who, image, {columns})
        VALUES (place, x, CASE WHEN age(old.xmin) > age(x::xid) THEN true END, old.xmin, old.ctid, {part}, pg_backend_pid(), who,
                image, {old_columns});
        place := nextval('stepwell_log.position');
        written := set_config('stepwell.written', place::text, true);
        INSERT INTO {log} (position, xid, dead, new_xid, new_place, part, backend, who, {key})
        VALUES (place, x, false, new.xmin, new.ctid, {part}, pg_backend_pid(), who, {new_key});
    END IF;
    RETURN NULL;
END $stepwell$
