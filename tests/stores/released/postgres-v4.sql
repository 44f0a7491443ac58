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
    epoch bigint DEFAULT 1 NOT NULL,
    kind text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    priority integer DEFAULT 0 NOT NULL,
    run_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    place bigint DEFAULT 0 NOT NULL,
    look timestamp with time zone
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
CREATE TABLE bobcat_released.tenants (
    tenant text NOT NULL COLLATE pg_catalog."C",
    served bigint NOT NULL
);
CREATE SEQUENCE bobcat_released.turns
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
INSERT INTO bobcat_released.documents VALUES ('approval', 'a1', 2, '{"by":"\u00e9\ud800","granted":true}', '9a56e533-9333-4d9f-a088-d44d4f144401', '2026-11-27 23:34:24.709372+00');
INSERT INTO bobcat_released.records VALUES ('plain', 0, 'run.started', '', '{"bundle_id":"0000000000000000000000000000000000000000000000000000000000000000","task":"pay"}', '2026-01-02T03:04:05.678901+00:00', '962e27ce-faa3-4d17-b818-53e32968db8a');
INSERT INTO bobcat_released.records VALUES ('plain', 1, 'model.output', '0123456789abcdef0123456789abcdef', '{"args":{"f":-0.0,"n":1180591620717411303424,"text":"\u00e9 \ud800 \u0000 \ud83d\udc08"},"step":0,"tool":"pay","type":"tool_call"}', '2026-01-02T03:04:05.678901+00:00', 'd11c9d63-8fea-4b9e-aad4-7f1b5e9c9db2');
INSERT INTO bobcat_released.records VALUES ('plain', 2, 'action.result', '0123456789abcdef0123456789abcdef', '{"ok":true,"step":0}', '2026-01-02T03:04:05.678901+00:00', '5f45b6de-1aec-4109-9ae3-685db840b9d1');
INSERT INTO bobcat_released.runs VALUES ('leased', 'running', '{}', 1, 'worker é', '2026-11-27 23:34:24.673793+00', '2026-11-27 23:34:24.672794+00', '2026-11-27 23:34:24.672794+00', 0, -1, NULL, 1, '', '', '', 0, NULL, 0, 0, NULL);
INSERT INTO bobcat_released.runs VALUES ('plain', 'succeeded', '{"answer":"done"}', 0, NULL, '-infinity', '2026-11-27 23:34:24.679803+00', '2026-11-27 23:34:24.693799+00', 3, 2, '', 1, '', '', '', 0, NULL, 0, 0, NULL);
INSERT INTO bobcat_released.runs VALUES ('waiting', 'suspended', '{"approvals":["a1"]}', 0, NULL, '-infinity', '2026-11-27 23:34:24.69685+00', '2026-11-27 23:34:24.69685+00', 0, -1, NULL, 1, '', '', '', 0, NULL, 0, 0, NULL);
INSERT INTO bobcat_released.schema_version VALUES (4);
INSERT INTO bobcat_released.store VALUES (1, '7712991352170453166/00000001/16386/25723', NULL, 0);
ALTER TABLE ONLY bobcat_released.documents
    ADD CONSTRAINT documents_pkey PRIMARY KEY (kind, key);
ALTER TABLE ONLY bobcat_released.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (run_id, seq);
ALTER TABLE ONLY bobcat_released.runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (run_id);
ALTER TABLE ONLY bobcat_released.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant);
CREATE INDEX runs_by_change ON bobcat_released.runs USING btree (updated, run_id);
CREATE INDEX runs_by_status ON bobcat_released.runs USING btree (status, updated, run_id);
CREATE INDEX runs_due ON bobcat_released.runs USING btree (run_at) WHERE ((status = 'queued'::text) AND (kind <> ''::text));
CREATE INDEX runs_look ON bobcat_released.runs USING btree (look, run_id) WHERE ((status = 'suspended'::text) AND (look IS NOT NULL));
CREATE INDEX runs_queued ON bobcat_released.runs USING btree (kind, version, tenant, priority, run_at, place) WHERE ((status = 'queued'::text) AND (kind <> ''::text));
CREATE INDEX runs_running ON bobcat_released.runs USING btree (kind, tenant) WHERE ((status = 'running'::text) AND (kind <> ''::text));
