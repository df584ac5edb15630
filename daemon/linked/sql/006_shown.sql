-- What every sign may show of an award at another table: where, and how much.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

CREATE INDEX decisions_newest ON decisions (version);

CREATE FUNCTION newest_award(of_pool text, OUT table_name text, OUT seq bigint, OUT amount bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, linked, pg_temp AS $$
    SELECT t.name, d.seq, (SELECT max((a ->> 'amount')::bigint) FROM jsonb_array_elements(d.awards) AS a)
        FROM decisions AS d JOIN tables AS t USING (table_id) JOIN pools AS p USING (pool_id)
        WHERE p.name = of_pool ORDER BY d.version DESC LIMIT 1
$$;

REVOKE ALL ON FUNCTION newest_award(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION newest_award(text) TO feltd_table, feltd_floor;
