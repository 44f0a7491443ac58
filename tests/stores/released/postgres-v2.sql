CREATE SCHEMA bobcat_released;
CREATE TABLE bobcat_released.documents (
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    body text NOT NULL,
    token uuid NOT NULL,
    updated timestamp with time zone NOT NULL
);
CREATE TABLE bobcat_released.records (
    run_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    kind text NOT NULL,
    idempotency_key text NOT NULL,
    body text NOT NULL,
    made text NOT NULL,
    token uuid NOT NULL
);
CREATE TABLE bobcat_released.runs (
    run_id text NOT NULL COLLATE pg_catalog."C",
    status text DEFAULT 'running'::text NOT NULL,
    detail text DEFAULT '{}'::text NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    owner text,
    expires timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    created timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    records bigint DEFAULT 0 NOT NULL,
    last bigint DEFAULT '-1'::integer NOT NULL,
    head text,
    epoch bigint DEFAULT 1 NOT NULL
);
CREATE TABLE bobcat_released.schema_version (
    version integer NOT NULL
);
CREATE TABLE bobcat_released.store (
    epoch bigint NOT NULL,
    identity text,
    restored timestamp with time zone
);
INSERT INTO bobcat_released.documents VALUES ('approval', 'a1', 2, '{"by":"\u00e9\ud800","granted":true}', '0c8ad48c-5962-4110-bfaa-61b1d795e07e', '2026-11-22 09:41:51.347026+00');
INSERT INTO bobcat_released.records VALUES ('plain', 0, 'run.started', '', '{"bundle_id":"0000000000000000000000000000000000000000000000000000000000000000","task":"pay"}', '2026-01-02T03:04:05.678901+00:00', '02674a3e-804a-4d32-9466-e14876e65102');
INSERT INTO bobcat_released.records VALUES ('plain', 1, 'model.output', '0123456789abcdef0123456789abcdef', '{"args":{"f":-0.0,"n":1180591620717411303424,"text":"\u00e9 \ud800 \u0000 \ud83d\udc08"},"step":0,"tool":"pay","type":"tool_call"}', '2026-01-02T03:04:05.678901+00:00', '3ff4bbfd-2602-4c9e-ac86-e7ddfce81bd4');
INSERT INTO bobcat_released.records VALUES ('plain', 2, 'action.result', '0123456789abcdef0123456789abcdef', '{"ok":true,"step":0}', '2026-01-02T03:04:05.678901+00:00', '02668b75-9aef-4fbc-9347-6d103048c53a');
INSERT INTO bobcat_released.runs VALUES ('leased', 'running', '{}', 1, 'worker é', '2026-11-22 09:41:51.325358+00', '2026-11-22 09:41:51.324358+00', '2026-11-22 09:41:51.324358+00', 0, -1, NULL, 1);
INSERT INTO bobcat_released.runs VALUES ('plain', 'succeeded', '{"answer":"done"}', 0, NULL, '-infinity', '2026-11-22 09:41:51.330664+00', '2026-11-22 09:41:51.337144+00', 3, 2, '', 1);
INSERT INTO bobcat_released.runs VALUES ('waiting', 'suspended', '{"approvals":["a1"]}', 0, NULL, '-infinity', '2026-11-22 09:41:51.339284+00', '2026-11-22 09:41:51.339284+00', 0, -1, NULL, 1);
INSERT INTO bobcat_released.schema_version VALUES (2);
INSERT INTO bobcat_released.store VALUES (1, '7710917403648813146/00000001/5/20384', NULL);
ALTER TABLE ONLY bobcat_released.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (kind, key);
ALTER TABLE ONLY bobcat_released.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (run_id, seq);
ALTER TABLE ONLY bobcat_released.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);
CREATE INDEX runs_by_change ON bobcat_released.runs USING btree (updated, run_id);
