-- Roles are the server's, not the database's: another database of it may have made them already.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['feltd_owner', 'feltd_table', 'feltd_floor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOINHERIT NOCREATEDB NOCREATEROLE', wanted);
        END IF;
    END LOOP;
    -- Whoever migrates makes what the owner owns. From PostgreSQL 16 on, to have made a role is not enough.
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT feltd_owner TO %I', current_user);
    END IF;
END
$$;

CREATE SCHEMA linked AUTHORIZATION feltd_owner;
GRANT USAGE ON SCHEMA linked TO feltd_table, feltd_floor;

CREATE TABLE linked.migrations (
    number int PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
ALTER TABLE linked.migrations OWNER TO feltd_owner;
GRANT SELECT ON linked.migrations TO feltd_table, feltd_floor;
