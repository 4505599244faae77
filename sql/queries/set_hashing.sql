-- Whether joins may hash, until the transaction ends: a recorder's short statements must not, a join of many rows has to.
SELECT set_config('enable_hashjoin', %(hashing)s, true)
