-- What the floor reads, and what the house's own hands do. A table's role sees none of it.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

-- Every table there was; the house's own row, which has no role, is left out.
CREATE VIEW floor AS
    SELECT p.name AS pool_name, t.name AS table_name, t.retired_at, t.last_seq, t.contributions,
        -t.stakes AS contributed, t.awards, t.players AS awarded, n.at AS seen,
        extract(epoch FROM clock_timestamp() - n.at)::float8 AS age, n.outbox, n.pending
    FROM tables AS t JOIN pools AS p USING (pool_id) LEFT JOIN presence AS n USING (table_id)
    WHERE t.role_name IS NOT NULL;

-- The movements of every table by kind in a time, upper end excluded.
CREATE FUNCTION movements(of_pool text, since timestamptz, until timestamptz)
    RETURNS TABLE (table_name text, kind text, lines bigint, stakes bigint, house bigint, pool bigint,
        overflow bigint, reserve bigint, players bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
    SELECT t.name, l.kind, count(*), sum(l.stakes)::bigint, sum(l.house)::bigint, sum(l.pool)::bigint,
        sum(l.overflow)::bigint, sum(l.reserve)::bigint, sum(l.players)::bigint
    FROM ledger AS l JOIN tables AS t USING (table_id) JOIN pools AS p USING (pool_id)
    WHERE p.name = of_pool AND l.at >= since AND l.at < until
    GROUP BY t.name, l.kind ORDER BY t.name, l.kind
$$;

-- What the pool and its neighbours held at a moment, by the ledger alone.
CREATE FUNCTION held(of_pool text, moment timestamptz, OUT pool bigint, OUT overflow bigint, OUT reserve bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
    SELECT coalesce(sum(l.pool), 0)::bigint, coalesce(sum(l.overflow), 0)::bigint,
        coalesce(sum(l.reserve), 0)::bigint
    FROM ledger AS l JOIN tables AS t USING (table_id) JOIN pools AS p USING (pool_id)
    WHERE p.name = of_pool AND l.at < moment
$$;

-- Where the fast sums are not what the ledger says; no row when all is right. Reads the whole ledger.
CREATE FUNCTION differences(of_pool text)
    RETURNS TABLE (table_name text, account text, summary bigint, by_ledger bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
    WITH booked AS (
        SELECT table_id, count(*) AS version, max(seq) AS last_seq,
            count(*) FILTER (WHERE kind = 'contribution') AS contributions,
            count(*) FILTER (WHERE kind = 'award') AS awards, sum(stakes) AS stakes, sum(house) AS house,
            sum(pool) AS pool, sum(overflow) AS overflow, sum(reserve) AS reserve, sum(players) AS players
        FROM ledger GROUP BY table_id
    ), compared AS (
        SELECT t.name, each.account, each.summary, coalesce(each.by_ledger, 0)::bigint AS by_ledger
        FROM tables AS t JOIN pools AS p USING (pool_id) LEFT JOIN booked AS b USING (table_id),
        LATERAL (VALUES
            ('version', t.version, b.version), ('last_seq', t.last_seq, b.last_seq),
            ('contributions', t.contributions, b.contributions), ('awards', t.awards, b.awards),
            ('stakes', t.stakes, b.stakes), ('house', t.house, b.house), ('pool', t.pool, b.pool),
            ('overflow', t.overflow, b.overflow), ('reserve', t.reserve, b.reserve),
            ('players', t.players, b.players)) AS each (account, summary, by_ledger)
        WHERE p.name = of_pool
    )
    SELECT * FROM compared WHERE summary <> by_ledger
    UNION ALL  -- an award that is decided and not booked as decided, or the other way
    SELECT t.name, 'award of record ' || seq, decided.amount, booked.amount
    FROM (SELECT table_id, seq, sum((a ->> 'amount')::bigint)::bigint AS amount
            FROM decisions, jsonb_array_elements(awards) AS a GROUP BY table_id, seq) AS decided
        FULL JOIN (SELECT table_id, seq, sum(players)::bigint AS amount
            FROM ledger WHERE kind = 'award' GROUP BY table_id, seq) AS booked USING (table_id, seq)
        JOIN tables AS t USING (table_id) JOIN pools AS p USING (pool_id)
    WHERE p.name = of_pool AND decided.amount IS DISTINCT FROM booked.amount
$$;

-- A new pool with its first minimum from the house.
CREATE FUNCTION make_pool(pool_name text, its_currency text, rules text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    minimum constant bigint := rules::jsonb ->> 'minimum';
    made_id int;
    house_id int;
BEGIN
    INSERT INTO pools (name, currency, rules_text) VALUES (pool_name, its_currency, rules)
        RETURNING pool_id INTO made_id;
    INSERT INTO tables (pool_id, name, version, house, pool) VALUES (made_id, 'house', 1, -minimum, minimum)
        RETURNING table_id INTO house_id;
    INSERT INTO ledger (table_id, seq, line, kind, house, pool)
        VALUES (house_id, 0, 0, 'minimum', -minimum, minimum);
END
$$;

-- A table whose journal is a new one is enrolled anew: its records count from 1 again.
CREATE FUNCTION enrol(of_pool text, table_name text, its_role name, new_journal boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, linked, pg_temp AS $$
BEGIN
    IF new_journal THEN
        UPDATE tables SET retired_at = clock_timestamp()
            WHERE name = table_name AND role_name IS NOT NULL AND retired_at IS NULL;
    END IF;
    INSERT INTO tables (pool_id, name, role_name)
        SELECT pool_id, table_name, its_role FROM pools WHERE name = of_pool;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no pool %', of_pool USING ERRCODE = 'FL006';
    END IF;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA linked FROM PUBLIC;
GRANT SELECT ON floor TO feltd_floor;
GRANT EXECUTE ON FUNCTION
    movements(text, timestamptz, timestamptz), held(text, timestamptz), differences(text) TO feltd_floor;
