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
    updated timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
CREATE TABLE bobcat_released.schema_version (
    version integer NOT NULL
);
INSERT INTO bobcat_released.documents VALUES ('approval', 'a1', 2, '{"by":"\u00e9\ud800","granted":true}', 'bac544a0-2268-4fc6-b3d9-dc4a3ea1afa3', '2026-11-21 04:06:25.299354+00');
INSERT INTO bobcat_released.records VALUES ('plain', 0, 'run.started', '', '{"bundle_id":"0000000000000000000000000000000000000000000000000000000000000000","task":"pay"}', '2026-01-02T03:04:05.678901+00:00', '2976acc4-3a43-45f6-8bec-ffb468c335b6');
INSERT INTO bobcat_released.records VALUES ('plain', 1, 'model.output', '0123456789abcdef0123456789abcdef', '{"args":{"f":-0.0,"n":1180591620717411303424,"text":"\u00e9 \ud800 \u0000 \ud83d\udc08"},"step":0,"tool":"pay","type":"tool_call"}', '2026-01-02T03:04:05.678901+00:00', '474148fa-9c69-4689-aa98-bf824f15f210');
INSERT INTO bobcat_released.records VALUES ('plain', 2, 'action.result', '0123456789abcdef0123456789abcdef', '{"ok":true,"step":0}', '2026-01-02T03:04:05.678901+00:00', '2ad06efc-3b79-4f86-94fc-64b8d5cdd9e4');
INSERT INTO bobcat_released.runs VALUES ('leased', 'running', '{}', 1, 'worker é', '2026-11-21 04:06:25.247311+00', '2026-11-21 04:06:25.246311+00', '2026-11-21 04:06:25.246311+00');
INSERT INTO bobcat_released.runs VALUES ('plain', 'succeeded', '{"answer":"done"}', 0, NULL, '-infinity', '2026-11-21 04:06:25.255978+00', '2026-11-21 04:06:25.283502+00');
INSERT INTO bobcat_released.runs VALUES ('waiting', 'suspended', '{"approvals":["a1"]}', 0, NULL, '-infinity', '2026-11-21 04:06:25.287213+00', '2026-11-21 04:06:25.287213+00');
INSERT INTO bobcat_released.schema_version VALUES (1);
ALTER TABLE ONLY bobcat_released.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (kind, key);
ALTER TABLE ONLY bobcat_released.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (run_id, seq);
ALTER TABLE ONLY bobcat_released.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);
CREATE INDEX runs_by_change ON bobcat_released.runs USING btree (updated, run_id);
