-- A small shop in PostgreSQL: every kind of type, foreign keys with actions, and unusual names.
CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN short AS varchar(5);
CREATE TABLE people (
    id int PRIMARY KEY, name text, paid numeric, born timestamptz, photo bytea, facts jsonb, raw json, tags text[],
    ref uuid UNIQUE, mood mood, part pair, code short, fixed char(6), ratio float8, many int[][], lasts interval,
    cash money, net inet, span int4range, made date DEFAULT '2020-01-01',
    label text GENERATED ALWAYS AS (name || '!') STORED, number int GENERATED ALWAYS AS IDENTITY);
INSERT INTO people VALUES
    (1, 'ann', 1.500, '2020-02-03 04:05:06.789012+05:30', '\x00ff', '{"b": 1, "a": [1.0, null]}', '{"b":1,  "b":2}',
     '{a,"b,c",NULL,"NULL",""}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'it''s ok', '(7,"x, ""y""")', 'abc', 'ab',
     0.1, '{{1,2},{3,NULL}}', '1 mon 2 days 03:04:05.6', '12.30', '10.0.0.1/24', '[1,5)'),
    (2, 'bob', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (3, 'żółć', 'NaN', '-infinity', '', 'null', '""', '{}', NULL, 'sad', '(,)', '', '', '-0', '{}',
     '-1 day', '-1', '::1', 'empty');
CREATE TABLE pairs (a text, b numeric, value text, PRIMARY KEY (a, b));
INSERT INTO pairs VALUES ('x', 1, 'one'), ('x', 2.0, ''), ('y', 1, NULL);
CREATE TABLE orders (id int PRIMARY KEY, person int REFERENCES people ON DELETE CASCADE ON UPDATE CASCADE,
    note text UNIQUE);
INSERT INTO orders VALUES (10, 2, 'first'), (11, 2, 'second'), (12, 3, 'third');
CREATE TABLE nodes (id int PRIMARY KEY, parent int REFERENCES nodes ON DELETE CASCADE,
    likes int REFERENCES people ON DELETE SET NULL ON UPDATE SET NULL);
INSERT INTO nodes VALUES (1, NULL, 1), (2, 1, 2), (3, 2, 2);
CREATE TABLE numbered (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text);
INSERT INTO numbered (text) VALUES ('a'), ('b');
CREATE TABLE late (id int PRIMARY KEY, rank int UNIQUE DEFERRABLE INITIALLY DEFERRED,
    person int REFERENCES people DEFERRABLE INITIALLY DEFERRED);
INSERT INTO late VALUES (1, 1, 1), (2, 2, 1);
CREATE TABLE loose (text text);
INSERT INTO loose VALUES ('a');
CREATE SCHEMA "order";
CREATE TABLE "order"."group" (id int PRIMARY KEY, "select" text);
INSERT INTO "order"."group" VALUES (1, 'a'), (2, 'b');
CREATE SCHEMA "My Schema";
CREATE TABLE "My Schema"."T ""q"" $x$" ("Id ""k""" int PRIMARY KEY, "É" int REFERENCES "order"."group" ON DELETE CASCADE);
INSERT INTO "My Schema"."T ""q"" $x$" VALUES (1, 1);
CREATE VIEW names AS SELECT id, name FROM people;
