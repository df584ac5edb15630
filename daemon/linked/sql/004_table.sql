-- All that a table's role can do. Each function finds the table by the role that logged in, which
-- no statement of that role can change, and runs as the owner.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

-- The caller's table, its row locked: its records are booked one after another.
CREATE FUNCTION own_table() RETURNS tables
    LANGUAGE plpgsql AS $$
DECLARE
    own tables;
BEGIN
    -- A sum that is read after a lock must see what was committed before it was had.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a linked pool is written in read committed transactions only' USING ERRCODE = 'FL008';
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    SELECT * INTO own FROM tables WHERE role_name = session_user AND retired_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no table is enrolled for the role %', session_user USING ERRCODE = 'FL006';
    END IF;
    RETURN own;
END
$$;

-- The rules of the table's pool. A table that joined with others books nothing.
CREATE FUNCTION rules_of(own tables) RETURNS jsonb
    LANGUAGE plpgsql STABLE AS $$
DECLARE
    its pools;
BEGIN
    SELECT * INTO its FROM pools WHERE pool_id = own.pool_id;
    IF own.fingerprint IS DISTINCT FROM its.fingerprint THEN
        RAISE EXCEPTION 'table % plays by the rules %, the pool % by %', own.name,
            coalesce(own.fingerprint, 'of no join yet'), its.name, its.fingerprint USING ERRCODE = 'FL002';
    END IF;
    RETURN its.rules;
END
$$;

CREATE FUNCTION refuse_gap(own tables, given_prior bigint, given_seq bigint) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table %: record % comes after %, and the last one here is %: there is a gap between',
        own.name, given_seq, given_prior, own.last_seq USING ERRCODE = 'FL001';
END
$$;

CREATE FUNCTION refuse_other(own tables, given_seq bigint, given_line int) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'table %: record % line % is not what is booked here under that number',
        own.name, given_seq, given_line USING ERRCODE = 'FL005';
END
$$;

CREATE FUNCTION announce(changed_pool int) RETURNS void
    LANGUAGE sql AS $$
    SELECT pg_notify('linked_' || name, '') FROM pools WHERE pool_id = changed_pool
$$;

-- Alone with the pool until this transaction ends; tables go on contributing to a pool without a limit.
CREATE FUNCTION lock_pool(wanted int) RETURNS void
    LANGUAGE sql AS $$
    SELECT FROM pools WHERE pool_id = wanted FOR NO KEY UPDATE
$$;

CREATE FUNCTION join_pool(
    table_name text, given_currency text, given_fingerprint text, OUT pool_name text, OUT booked bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    own tables := own_table();
    its pools;
BEGIN
    IF own.name <> table_name THEN
        RAISE EXCEPTION 'the role % is that of table %, not of %', session_user, own.name, table_name
            USING ERRCODE = 'FL004';
    END IF;
    SELECT * INTO its FROM pools WHERE pool_id = own.pool_id;
    IF its.currency <> given_currency THEN
        RAISE EXCEPTION 'table % counts in %, the pool % in %', own.name, given_currency, its.name, its.currency
            USING ERRCODE = 'FL003';
    END IF;
    own.fingerprint := given_fingerprint;
    PERFORM rules_of(own);
    UPDATE tables SET fingerprint = given_fingerprint WHERE table_id = own.table_id;
    pool_name := its.name;
    booked := own.last_seq;
END
$$;

-- Book contributions: lines of whole records in their order, each array an attribute. What is booked
-- already is compared and left. Returns the last record that is booked.
CREATE FUNCTION contribute(
    seqs bigint[], lines int[], priors bigint[], amounts bigint[], reserves bigint[]
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    own tables := own_table();
    rules constant jsonb := rules_of(own);
    room bigint := NULL;  -- below the limit; NULL for no limit
    odd record;
    sums record;
BEGIN
    IF own.last_seq >= ANY (seqs) THEN
        PERFORM compare_repeated(own, seqs, lines, amounts, reserves);
    END IF;
    SELECT * INTO odd FROM first_out_of_order(own.last_seq, seqs, lines, priors);
    IF FOUND THEN
        PERFORM refuse_gap(own, odd.prior, odd.seq);
    END IF;
    PERFORM refuse_implausible(own, rules, amounts, reserves);
    IF rules -> 'limit' <> 'null' THEN
        PERFORM lock_pool(own.pool_id);
        room := greatest(0, (rules ->> 'limit')::bigint - (SELECT sum(pool) FROM tables WHERE pool_id = own.pool_id));
    END IF;
    WITH fresh AS (
        SELECT b.seq, b.line, b.amount, b.reserve,
            coalesce(sum(b.amount) OVER (
                ORDER BY b.nth ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
        FROM unnest(seqs, lines, amounts, reserves) WITH ORDINALITY AS b (seq, line, amount, reserve, nth)
        WHERE b.seq > own.last_seq
    ), shared AS (
        SELECT seq, line, amount, reserve,
            least(amount, greatest(0, coalesce(room, amount + before) - before))::bigint AS to_pool
        FROM fresh
    ), booked AS (
        INSERT INTO ledger (table_id, seq, line, kind, stakes, pool, overflow, reserve)
            SELECT own.table_id, seq, line, 'contribution', -amount - reserve, to_pool, amount - to_pool, reserve
            FROM shared
            RETURNING ledger.seq, ledger.stakes, ledger.pool, ledger.overflow, ledger.reserve
    )
    SELECT count(*) AS lines, max(b.seq) AS last, sum(b.stakes) AS stakes, sum(b.pool) AS pool,
        sum(b.overflow) AS overflow, sum(b.reserve) AS reserve INTO sums FROM booked AS b;
    IF sums.lines = 0 THEN
        RETURN own.last_seq;
    END IF;
    UPDATE tables AS t SET last_seq = sums.last, version = version + sums.lines,
        contributions = contributions + sums.lines, stakes = t.stakes + sums.stakes, pool = t.pool + sums.pool,
        overflow = t.overflow + sums.overflow, reserve = t.reserve + sums.reserve
        WHERE table_id = own.table_id;
    RETURN sums.last;
END
$$;

CREATE FUNCTION compare_repeated(
    own tables, seqs bigint[], lines int[], amounts bigint[], reserves bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    other record;
BEGIN
    SELECT b.seq, b.line INTO other
        FROM unnest(seqs, lines, amounts, reserves) AS b (seq, line, amount, reserve)
        LEFT JOIN ledger AS l ON l.table_id = own.table_id AND l.seq = b.seq AND l.line = b.line
        WHERE b.seq <= own.last_seq AND (
            l.kind, l.pool + l.overflow, l.reserve) IS DISTINCT FROM ('contribution', b.amount, b.reserve)
        LIMIT 1;
    IF FOUND THEN
        PERFORM refuse_other(own, other.seq, other.line);
    END IF;
END
$$;

-- The first line of those after ``booked`` that does not follow the one before it.
CREATE FUNCTION first_out_of_order(booked bigint, seqs bigint[], lines int[], priors bigint[])
    RETURNS TABLE (seq bigint, prior bigint)
    LANGUAGE sql IMMUTABLE AS $$
    SELECT b.seq, b.prior FROM (
        SELECT a.seq, a.line, a.prior, a.nth,
            lag(a.seq, 1, booked) OVER (ORDER BY a.nth) AS seq_before,
            lag(a.line) OVER (ORDER BY a.nth) AS line_before,
            lag(a.prior) OVER (ORDER BY a.nth) AS prior_before
        FROM unnest(seqs, lines, priors) WITH ORDINALITY AS a (seq, line, prior, nth)
        WHERE a.seq > booked
    ) AS b
    WHERE NOT (CASE WHEN b.seq = b.seq_before THEN b.line = b.line_before + 1 AND b.prior = b.prior_before
        ELSE b.seq > b.seq_before AND b.prior = b.seq_before AND b.line = 0 END)
    ORDER BY b.nth LIMIT 1
$$;

CREATE FUNCTION refuse_implausible(own tables, rules jsonb, amounts bigint[], reserves bigint[]) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    -- Two carried remainders may come due in one bet: a unit more than its stake.
    most constant bigint := coalesce((rules ->> 'largest_contribution')::bigint, (rules ->> 'stake')::bigint + 1);
    odd record;
BEGIN
    SELECT b.amount, b.reserve INTO odd FROM unnest(amounts, reserves) AS b (amount, reserve)
        WHERE (b.amount >= 0 AND b.reserve >= 0 AND b.amount + b.reserve <= most) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table %: a contribution of % and % for the reserve is none of 0 to %',
            own.name, odd.amount, odd.reserve, most USING ERRCODE = 'FL007';
    END IF;
END
$$;

-- A supervisor's correction, up or down, a record of its own.
CREATE FUNCTION correct(given_seq bigint, given_prior bigint, amount bigint, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    own tables := own_table();
    now_there bigint;
BEGIN
    PERFORM rules_of(own);
    IF given_seq <= own.last_seq THEN
        IF NOT EXISTS (SELECT FROM ledger AS l WHERE l.table_id = own.table_id AND l.seq = given_seq
                AND l.kind = 'correction' AND l.pool = amount AND l.note = reason) THEN
            PERFORM refuse_other(own, given_seq, 0);
        END IF;
        RETURN own.last_seq;
    END IF;
    IF given_prior <> own.last_seq THEN
        PERFORM refuse_gap(own, given_prior, given_seq);
    END IF;
    PERFORM lock_pool(own.pool_id);
    SELECT sum(pool) INTO now_there FROM tables WHERE pool_id = own.pool_id;
    IF amount = 0 OR now_there + amount < 0 THEN
        RAISE EXCEPTION 'table %: a correction of % is not possible, the pool is %', own.name, amount, now_there
            USING ERRCODE = 'FL007';
    END IF;
    INSERT INTO ledger (table_id, seq, line, kind, house, pool, note)
        VALUES (own.table_id, given_seq, 0, 'correction', -amount, amount, reason);
    UPDATE tables AS t SET last_seq = given_seq, version = version + 1, house = t.house - amount,
        pool = t.pool + amount WHERE table_id = own.table_id;
    PERFORM announce(own.pool_id);
    RETURN given_seq;
END
$$;

-- The decision on the claims of one round, made once; to the same question the same answer.
CREATE FUNCTION claim(given_seq bigint, given_prior bigint, given_round bigint, boxes int[], categories text[])
    RETURNS decisions LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    own tables := own_table();
    asked constant jsonb := claims_of(boxes, categories);
    done decisions;
BEGIN
    IF given_seq <= own.last_seq THEN
        SELECT * INTO done FROM decisions AS d
            WHERE d.table_id = own.table_id AND d.seq = given_seq AND d.round_id = given_round AND d.claims = asked;
        IF NOT FOUND THEN
            PERFORM refuse_other(own, given_seq, 0);
        END IF;
        RETURN done;
    END IF;
    IF given_prior <> own.last_seq THEN
        PERFORM refuse_gap(own, given_prior, given_seq);
    END IF;
    PERFORM refuse_claims(own, boxes, categories);
    PERFORM lock_pool(own.pool_id);
    done := decided(own, rules_of(own), given_seq, given_round, asked, boxes, categories);
    PERFORM announce(own.pool_id);
    RETURN done;
END
$$;

CREATE FUNCTION claims_of(boxes int[], categories text[]) RETURNS jsonb
    LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_agg(jsonb_build_object('box', c.box, 'category', c.category) ORDER BY c.box)
        FROM unnest(boxes, categories) AS c (box, category)
$$;

CREATE FUNCTION refuse_claims(own tables, boxes int[], categories text[]) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(boxes) NOT BETWEEN 1 AND 7 OR cardinality(categories) <> cardinality(boxes)
        OR (SELECT count(DISTINCT c.box) FROM unnest(boxes) AS c (box) WHERE c.box BETWEEN 1 AND 7)
            <> cardinality(boxes)
        OR NOT categories <@ ARRAY['flush', 'full-house', 'quads', 'straight-flush', 'royal-flush'] THEN
        RAISE EXCEPTION 'table %: boxes % with % are no claims of one round', own.name, boxes, categories
            USING ERRCODE = 'FL007';
    END IF;
END
$$;

-- Decide and book. The pool is locked: what is read here no other award has taken.
CREATE FUNCTION decided(
    own tables, rules jsonb, given_seq bigint, given_round bigint, asked jsonb, boxes int[], categories text[]
) RETURNS decisions LANGUAGE plpgsql AS $$
DECLARE
    before record;
    worth record;
    sums record;
    made decisions;
BEGIN
    SELECT sum(t.pool)::bigint AS pool, sum(t.overflow)::bigint AS overflow, sum(t.reserve)::bigint AS reserve,
        sum(t.version)::bigint AS version INTO before FROM tables AS t WHERE t.pool_id = own.pool_id;
    SELECT * INTO worth FROM decide(rules, before.pool, boxes, categories);
    INSERT INTO ledger (table_id, seq, line, kind, house, pool, players, note)
        SELECT own.table_id, given_seq, a.place - 1, 'award', -a.from_house, -a.from_pool, a.amount,
            format('box %s, %s', a.box, a.category)
        FROM jsonb_to_recordset(worth.awards)
            AS a (place int, box int, category text, amount bigint, from_pool bigint, from_house bigint);
    IF worth.emptied THEN
        INSERT INTO ledger (table_id, seq, line, kind, house, pool, overflow, reserve)
            SELECT own.table_id, given_seq, cardinality(boxes), 'minimum', -s.from_house,
                s.from_house + s.from_reserve + s.from_overflow, -s.from_overflow, -s.from_reserve
            FROM new_minimum(rules, worth.pool_left, before.overflow, before.reserve) AS s;
    END IF;
    SELECT count(*) AS lines, sum(l.house) AS house, sum(l.pool) AS pool, sum(l.overflow) AS overflow,
        sum(l.reserve) AS reserve, sum(l.players) AS players INTO sums
        FROM ledger AS l WHERE l.table_id = own.table_id AND l.seq = given_seq;
    UPDATE tables AS t SET last_seq = given_seq, version = t.version + sums.lines,
        awards = t.awards + cardinality(boxes), house = t.house + sums.house, pool = t.pool + sums.pool,
        overflow = t.overflow + sums.overflow, reserve = t.reserve + sums.reserve,
        players = t.players + sums.players WHERE t.table_id = own.table_id;
    INSERT INTO decisions (table_id, seq, round_id, claims, awards, pool_before, pool_left, emptied, pool_after,
            version)
        VALUES (own.table_id, given_seq, given_round, asked, worth.awards, before.pool, worth.pool_left,
            worth.emptied, before.pool + sums.pool, before.version + sums.lines)
        RETURNING * INTO made;
    RETURN made;
END
$$;

-- Where a new minimum comes from (CS-10, art. 10(8)): from the reserve as far as it goes.
CREATE FUNCTION new_minimum(
    rules jsonb, pool_left bigint, overflow bigint, reserve bigint,
    OUT from_house bigint, OUT from_reserve bigint, OUT from_overflow bigint
) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    minimum constant bigint := rules ->> 'minimum';
    room constant bigint := coalesce((rules ->> 'limit')::bigint - pool_left - minimum, overflow);
BEGIN
    from_reserve := least(reserve, minimum);
    from_house := minimum - from_reserve;
    from_overflow := CASE rules ->> 'overflow' WHEN 'next_pool' THEN least(overflow, greatest(0, room)) ELSE 0 END;
END
$$;

-- The pool as committed; what version it is grows with every line.
CREATE FUNCTION balance(pool_name text, OUT pool bigint, OUT version bigint, OUT at timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE  -- not in SQL, which would be planned anew for each look; no join, which costs more than the sum
    its_id constant int := (SELECT p.pool_id FROM pools AS p WHERE p.name = pool_name);
BEGIN
    SELECT sum(t.pool), sum(t.version), clock_timestamp() INTO pool, version, at
        FROM tables AS t WHERE t.pool_id = its_id;
END
$$;

-- What a link says of itself, for the floor. Nothing waits for a disk.
CREATE FUNCTION report(waiting_lines bigint, pending_claims bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    own_id int;
BEGIN
    SELECT table_id INTO own_id FROM tables WHERE role_name = session_user AND retired_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no table is enrolled for the role %', session_user USING ERRCODE = 'FL006';
    END IF;
    INSERT INTO presence VALUES (own_id, clock_timestamp(), waiting_lines, pending_claims)
        ON CONFLICT (table_id) DO UPDATE
        SET at = excluded.at, outbox = excluded.outbox, pending = excluded.pending;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA linked FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
    join_pool(text, text, text), contribute(bigint[], int[], bigint[], bigint[], bigint[]),
    correct(bigint, bigint, bigint, text), claim(bigint, bigint, bigint, int[], text[]), balance(text),
    report(bigint, bigint) TO feltd_table;
GRANT EXECUTE ON FUNCTION balance(text) TO feltd_floor;
