-- Whether the role %(role)s is there, whether this one may act as it, and whether it may be made.
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s),
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
           OR coalesce((SELECT pg_has_role(current_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = %(role)s), false),
       (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user)
