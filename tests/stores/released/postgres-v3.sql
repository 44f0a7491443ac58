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
    restored timestamp with time zone,
    fence bigint DEFAULT 0 NOT NULL
);
INSERT INTO bobcat_released.documents VALUES ('approval', 'a1', 2, '{"by":"\u00e9\ud800","granted":true}', 'c908b7be-05da-4457-996f-ffe36f77738a', '2026-11-23 15:04:08.528372+00');
INSERT INTO bobcat_released.records VALUES ('plain', 0, 'run.started', '', '{"bundle_id":"0000000000000000000000000000000000000000000000000000000000000000","task":"pay"}', '2026-01-02T03:04:05.678901+00:00', '26d3f563-f52d-4595-a739-d3baf52b38aa');
INSERT INTO bobcat_released.records VALUES ('plain', 1, 'model.output', '0123456789abcdef0123456789abcdef', '{"args":{"f":-0.0,"n":1180591620717411303424,"text":"\u00e9 \ud800 \u0000 \ud83d\udc08"},"step":0,"tool":"pay","type":"tool_call"}', '2026-01-02T03:04:05.678901+00:00', '818c6e03-2999-44a6-9a59-c48d7eafa9dc');
INSERT INTO bobcat_released.records VALUES ('plain', 2, 'action.result', '0123456789abcdef0123456789abcdef', '{"ok":true,"step":0}', '2026-01-02T03:04:05.678901+00:00', '7376c24e-b9d1-4e62-bf08-d3a89d68857b');
INSERT INTO bobcat_released.runs VALUES ('leased', 'running', '{}', 1, 'worker é', '2026-11-23 15:04:08.509329+00', '2026-11-23 15:04:08.50833+00', '2026-11-23 15:04:08.50833+00', 0, -1, NULL, 1);
INSERT INTO bobcat_released.runs VALUES ('plain', 'succeeded', '{"answer":"done"}', 0, NULL, '-infinity', '2026-11-23 15:04:08.512692+00', '2026-11-23 15:04:08.517698+00', 3, 2, '', 1);
INSERT INTO bobcat_released.runs VALUES ('waiting', 'suspended', '{"approvals":["a1"]}', 0, NULL, '-infinity', '2026-11-23 15:04:08.519721+00', '2026-11-23 15:04:08.519721+00', 0, -1, NULL, 1);
INSERT INTO bobcat_released.schema_version VALUES (3);
INSERT INTO bobcat_released.store VALUES (1, '7711375779477346379/00000001/5/20572', NULL, 0);
ALTER TABLE ONLY bobcat_released.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (kind, key);
ALTER TABLE ONLY bobcat_released.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (run_id, seq);
ALTER TABLE ONLY bobcat_released.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);
CREATE INDEX runs_by_change ON bobcat_released.runs USING btree (updated, run_id);
