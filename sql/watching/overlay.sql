-- Writes to the past of a table go beside it, into a temporary table of the rows that were written or removed, by key.
-- What a table itself would refuse is refused here where it takes no more than the row to know: a key that is taken already,
-- and a value that has to be there. Which keys were written is kept with the place in the recording, for good.
CREATE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $stepwell$
#variable_conflict use_column
BEGIN
    IF tg_op <> 'INSERT' THEN
        INSERT INTO {overlay} ({key}, "!gone") VALUES ({old_key}, true)
        ON CONFLICT ({key}) DO UPDATE SET "!gone" = true;
        INSERT INTO {made} VALUES ({old_key}, coalesce(current_setting('stepwell.place', true), ''), false) ON CONFLICT DO NOTHING;
    END IF;
    IF tg_op = 'DELETE' THEN
        RETURN old;
    END IF;
    {coerced}
    {computed}
    {required}
    {checked}
    IF EXISTS (SELECT FROM {view} AS taken WHERE {taken}) THEN
        RAISE unique_violation USING MESSAGE = {duplicate}, DETAIL = format({detail}, {new_key}),
            SCHEMA = {schema}, TABLE = {table}, CONSTRAINT = {constraint};
    END IF;
    INSERT INTO {overlay} ({columns}, "!gone") VALUES ({new}, false)
    ON CONFLICT ({key}) DO UPDATE SET ({columns}, "!gone") = ROW ({excluded}, false);
    INSERT INTO {made} VALUES ({new_key}, coalesce(current_setting('stepwell.place', true), ''), tg_op = 'INSERT')
    ON CONFLICT DO NOTHING;
    RETURN new;
END $stepwell$
