-- Logs each row that is written. Nothing here may fail or write within a block that catches: the first would break the
-- owner's statement, the second would spend a transaction number for each row. Every name is qualified or pinned.
-- Columns that were added since are not logged: the past has no values in them until the table is watched again.
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
    IF strange THEN
        BEGIN
            IF tg_op <> 'INSERT' THEN
                image := stepwell_log.image({watched}, tg_relid, old);
                {key_of_image}
            END IF;
            IF tg_op <> 'DELETE' THEN
                {key_of_new}
            END IF;
        EXCEPTION WHEN OTHERS THEN
            lost := 'a row could not be read, SQLSTATE ' || sqlstate;
        END;
        IF lost IS NOT NULL THEN
            PERFORM stepwell_log.lose({watched}, lost);
            RETURN NULL;
        ELSIF image IS NOT NULL THEN -- until the table is watched again, which takes it into columns
            PERFORM stepwell_log.lose({watched}, {changed});
        END IF;
    END IF;
    IF who = '' THEN
        who := session_user;
    END IF;
    place := nextval('stepwell_log.position');
    IF tg_op = 'UPDATE' AND ({old_key}) IS NOT DISTINCT FROM ({new_key}) THEN
        INSERT INTO {log} (position, xid, dead, old_xid, new_xid, old_place, new_place, part, backend, who, image, {columns})
        VALUES (place, x, CASE WHEN age(old.xmin) > age(x::xid) THEN true END, old.xmin, new.xmin, old.ctid, new.ctid, {part},
                pg_backend_pid(), who, image, {old_columns});
    ELSE
        IF tg_op <> 'INSERT' THEN
            INSERT INTO {log} (position, xid, dead, old_xid, old_place, part, backend, who, image, {columns})
            VALUES (place, x, CASE WHEN age(old.xmin) > age(x::xid) THEN true END, old.xmin, old.ctid, {part},
                    pg_backend_pid(), who, image, {old_columns});
        END IF;
        IF tg_op = 'UPDATE' THEN
            place := nextval('stepwell_log.position');
        END IF;
        IF tg_op <> 'DELETE' THEN
            INSERT INTO {log} (position, xid, dead, new_xid, new_place, part, backend, who, {key})
            VALUES (place, x, false, new.xmin, new.ctid, {part}, pg_backend_pid(), who, {new_key});
        END IF;
    END IF;
    written := set_config('stepwell.written', place::text, true);
    RETURN NULL;
END $stepwell$
