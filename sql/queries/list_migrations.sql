SELECT version FROM stepwell_migrations ORDER BY version
