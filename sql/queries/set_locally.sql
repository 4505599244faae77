-- Settings until the end of the transaction.
SELECT set_config(name, value, true) FROM unnest(%(names)s::text[], %(values)s::text[]) AS given (name, value)
