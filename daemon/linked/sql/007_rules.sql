-- A pool's rules change, and what they were is kept.
SET LOCAL ROLE feltd_owner;
SET LOCAL search_path = linked;

CREATE TABLE former_rules (
    pool_id int NOT NULL REFERENCES pools,
    until timestamptz NOT NULL DEFAULT clock_timestamp(),
    fingerprint text NOT NULL,
    rules_text text NOT NULL,
    changed_by name NOT NULL DEFAULT session_user,
    PRIMARY KEY (pool_id, until)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON former_rules
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE former_rules ENABLE ALWAYS TRIGGER append_only;

-- From now on; no award is being decided meanwhile. A table books nothing until it joins with these rules.
CREATE FUNCTION change_rules(of_pool text, given_rules text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, linked, pg_temp AS $$
DECLARE
    its pools;
BEGIN
    SELECT * INTO STRICT its FROM pools WHERE name = of_pool FOR UPDATE;
    INSERT INTO former_rules (pool_id, fingerprint, rules_text)
        VALUES (its.pool_id, its.fingerprint, its.rules_text);
    UPDATE pools SET rules_text = given_rules WHERE pool_id = its.pool_id;
END
$$;
REVOKE ALL ON FUNCTION change_rules(text, text) FROM PUBLIC;
