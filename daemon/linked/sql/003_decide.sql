-- CS-10 as daemon/games/jackpot.py has it; tests/linked compares the two. A function that nobody else may
-- call runs with the search path of the one that calls it.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

CREATE FUNCTION floored(amount bigint, unit bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS 'SELECT amount - amount % unit';

CREATE FUNCTION share_of_royals(rules jsonb, pool_left bigint, royals int) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        -- The whole pool, to the last minor unit.
        WHEN royals = 1 THEN greatest((rules ->> 'royal_flush')::bigint, pool_left)
        WHEN rules ->> 'royal_sharing' = 'each_max' THEN
            greatest((rules ->> 'royal_flush')::bigint,
                floored(pool_left / royals, (rules ->> 'pay_unit')::bigint))
        ELSE floored(greatest((rules ->> 'royal_flush')::bigint, pool_left) / royals,
            (rules ->> 'pay_unit')::bigint) END
$$;

-- The claims in the order in which they take, each with its place in the order of payment: by seat,
-- but a royal that meets an unpaid straight flush comes right after the last of them (art. 10(4), (7)).
CREATE FUNCTION turns(by_payment boolean, boxes int[], categories text[])
    RETURNS TABLE (place bigint, box int, category text)
    LANGUAGE sql IMMUTABLE AS $$
    WITH claims AS (
        SELECT c.box, c.category, c.category = 'royal-flush' AND c.box < max(c.box)
            FILTER (WHERE c.category = 'straight-flush') OVER () IS TRUE AS waits,
            max(c.box) FILTER (WHERE c.category = 'straight-flush') OVER () AS last_flush
        FROM unnest(boxes, categories) AS c (box, category)
    ), placed AS (
        SELECT row_number() OVER (
                ORDER BY CASE WHEN waits THEN last_flush ELSE c.box END, waits, c.box) AS place,
            c.box, c.category
        FROM claims AS c
    )
    SELECT place, box, category FROM placed ORDER BY
        CASE WHEN by_payment THEN place END,
        CASE category WHEN 'straight-flush' THEN 0 WHEN 'royal-flush' THEN 1 ELSE 2 END,
        box
$$;

-- The awards of one round in the order of payment, and what they leave of the pool.
-- ``boxes`` and ``categories`` are the claims, ``rules`` what entries.canonical() says of them.
CREATE FUNCTION decide(
    rules jsonb, pool bigint, boxes int[], categories text[],
    OUT awards jsonb, OUT pool_left bigint, OUT emptied boolean
) LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    unit constant bigint := rules ->> 'pay_unit';
    royals constant int := cardinality(array_positions(categories, 'royal-flush'));
    royal_share bigint;
    claim record;
    amount bigint;
    from_pool bigint;
BEGIN
    awards := '[]';
    pool_left := pool;
    emptied := pool = 0;
    FOR claim IN SELECT * FROM turns(rules ->> 'award_base' = 'turn', boxes, categories) LOOP
        amount := rules ->> replace(claim.category, '-', '_');
        IF claim.category = 'royal-flush' THEN
            royal_share := coalesce(royal_share, share_of_royals(rules, pool_left, royals));
            amount := royal_share;
        ELSIF claim.category = 'straight-flush' THEN
            amount := greatest(amount, floored(
                CASE rules ->> 'straight_flush_base' WHEN 'round_start' THEN pool ELSE pool_left END / 10, unit));
        END IF;
        from_pool := CASE
            WHEN rules -> 'funded_by_house' ? claim.category THEN 0
            -- Once paid out in full the rest of a division is no money for later awards.
            WHEN emptied AND claim.category <> 'royal-flush' THEN 0
            ELSE least(amount, pool_left) END;
        pool_left := pool_left - from_pool;
        emptied := emptied OR claim.category = 'royal-flush' OR pool_left = 0;
        awards := awards || jsonb_build_object(
            'place', claim.place, 'box', claim.box, 'category', claim.category,
            'amount', amount, 'from_pool', from_pool, 'from_house', amount - from_pool);
    END LOOP;
    SELECT jsonb_agg(each.value ORDER BY (each.value ->> 'place')::int) INTO awards
        FROM jsonb_array_elements(awards) AS each;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA linked FROM PUBLIC;
