-- Creates the role that Wake's servers use, or sets its password. It may read and write rows. The
-- role owns no table, so it can neither change the audit nor turn the audit's triggers off.
--
--   WAKE_APP_PASSWORD=... psql --set=role=wake_app --file=deploy/roles.sql DATABASE
--
-- Run it in Wake's database as the role that runs `migrate`, before or after the first migration.
\set ON_ERROR_STOP on
\getenv password WAKE_APP_PASSWORD
SELECT format('CREATE ROLE %I', :'role')
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
ALTER ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
  PASSWORD :'password';
-- Sets the limits of each connection (database/postgresql/bounded_connections.py). Wake passes the same settings
-- itself, except behind a transaction pooler, which cannot pass them on.
SELECT format('ALTER ROLE %I IN DATABASE %I SET %I = %L', :'role', current_database(), name, value)
  FROM (VALUES ('statement_timeout', '10s'), ('lock_timeout', '5s'), ('jit', 'off'),
               ('max_parallel_workers_per_gather', '0')) AS limits (name, value) \gexec
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO :"role";
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO :"role";
-- Grants the same rights on the tables of later migrations.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"role";
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO :"role";
