-- The ledger and what is kept beside it to read fast. Amounts are minor units.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

CREATE DOMAIN name_of_ours AS text CHECK (VALUE ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$');

-- A pool and its rules. An award locks its row; nothing else of a running pool is written here.
CREATE TABLE pools (
    pool_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name name_of_ours NOT NULL UNIQUE,
    currency text NOT NULL,
    rules_text text NOT NULL,
    rules jsonb NOT NULL GENERATED ALWAYS AS (rules_text::jsonb) STORED,
    fingerprint text NOT NULL GENERATED ALWAYS AS (encode(sha256(rules_text::bytea), 'hex')) STORED,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The cast to bytea takes a backslash for an escape; canonical rules have none.
    CHECK (strpos(rules_text, '\') = 0)
);

-- One row a table: its own sums, which only its own records change. So two tables never wait for
-- each other, and the pool is the sum of some short rows. The pool's first minimum is the row of the
-- house, which has no role. The six amounts are this table's part of each account: see the ledger.
CREATE TABLE tables (
    table_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool_id int NOT NULL REFERENCES pools,
    name name_of_ours NOT NULL,
    role_name name,
    enrolled_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    retired_at timestamptz,
    fingerprint text,  -- that it last joined with
    last_seq bigint NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,  -- lines booked
    contributions bigint NOT NULL DEFAULT 0,
    awards bigint NOT NULL DEFAULT 0,
    stakes bigint NOT NULL DEFAULT 0,
    house bigint NOT NULL DEFAULT 0,
    pool bigint NOT NULL DEFAULT 0,
    overflow bigint NOT NULL DEFAULT 0,
    reserve bigint NOT NULL DEFAULT 0,
    players bigint NOT NULL DEFAULT 0,
    CONSTRAINT sides_sum_to_zero CHECK (stakes + house + pool + overflow + reserve + players = 0)
) WITH (fillfactor = 50);  -- room for the row's next version on its page
CREATE UNIQUE INDEX one_table ON tables (name) WHERE retired_at IS NULL AND role_name IS NOT NULL;
CREATE UNIQUE INDEX one_role ON tables (role_name) WHERE retired_at IS NULL;
CREATE INDEX tables_of_pool ON tables (pool_id);

-- One row a movement, a column an account: what leaves one account is what comes to the others, in
-- the same row, or the row is refused. No foreign key: the id is that of the row the writer has locked.
CREATE TABLE ledger (
    table_id int NOT NULL,
    seq bigint NOT NULL CHECK (seq >= 0),
    line int NOT NULL CHECK (line >= 0),
    kind text NOT NULL CHECK (kind IN ('contribution', 'correction', 'award', 'minimum')),
    at timestamptz NOT NULL DEFAULT now(),
    stakes bigint NOT NULL DEFAULT 0 CHECK (stakes <= 0),  -- what the players' bets brought
    house bigint NOT NULL DEFAULT 0,
    pool bigint NOT NULL DEFAULT 0,
    overflow bigint NOT NULL DEFAULT 0,
    reserve bigint NOT NULL DEFAULT 0,
    players bigint NOT NULL DEFAULT 0 CHECK (players >= 0),
    note text,
    PRIMARY KEY (table_id, seq, line),
    CONSTRAINT sides_sum_to_zero CHECK (stakes + house + pool + overflow + reserve + players = 0)
);
CREATE INDEX ledger_at ON ledger USING brin (at);

-- What was decided on the claims of one round, frozen.
CREATE TABLE decisions (
    table_id int NOT NULL,
    seq bigint NOT NULL,
    round_id bigint NOT NULL,
    claims jsonb NOT NULL,
    awards jsonb NOT NULL,
    pool_before bigint NOT NULL,
    pool_left bigint NOT NULL,
    emptied boolean NOT NULL,
    pool_after bigint NOT NULL,
    version bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (table_id, seq)
);

-- What the links last told of themselves: news, no books. It need not outlive a crash.
CREATE UNLOGGED TABLE presence (
    table_id int PRIMARY KEY,
    at timestamptz NOT NULL,
    outbox bigint NOT NULL,
    pending bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'linked.% is only ever appended to', TG_TABLE_NAME USING ERRCODE = 'FL009';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON decisions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Also for a session that says it replays a replica.
ALTER TABLE ledger ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE decisions ENABLE ALWAYS TRIGGER append_only;
REVOKE ALL ON FUNCTION refuse_change() FROM PUBLIC;
