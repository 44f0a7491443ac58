"""The SQL facet beside the databases: a decidable statement touches no table and no function that is not named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import campaign
from sql.databases import Lite, Postgres, parsed
from sql.statements import Statements

PARTS = 2
LITE, FULL = (campaign.rounds(8_000), campaign.rounds(2_000)) if campaign.SIZE else (2_000, 400)
"""Statements for SQLite and for PostgreSQL."""
TRAPS = [
    # SQLite takes the keyword for an alias, and reads the table behind the comma.
    "SELECT * FROM a window, secret",
    "SELECT * FROM a offset, secret",
    "SELECT * FROM a, b ON conflict, secret",
    "SELECT * FROM a returning, secret",
    "SELECT * FROM a for, secret",
    "SELECT * FROM a fetch, secret",
    "SELECT 1 WHERE 1 IN secret",
    "SELECT 1 FROM a WHERE i NOT IN secret",
    "SELECT * FROM 'secret'",
    "SELECT * FROM [secret]",
    "SELECT * FROM `secret`",
    "SELECT * FROM a, 'secret'",
    "SELECT * FROM a t1 JOIN secret",
    "SELECT * FROM (a, secret)",
    "SELECT * FROM ((a)) , ((secret))",
    "SELECT * FROM a AS left, secret",
    "WITH secret AS (SELECT * FROM secret) SELECT * FROM secret",
    "WITH c AS (SELECT * FROM d), d AS (SELECT 1) SELECT * FROM c",
    "WITH c AS (DELETE FROM secret RETURNING *) SELECT * FROM c",
    "WITH c AS (SELECT 1) DELETE FROM secret",
    "TABLE secret",
    "SELECT (TABLE secret)",
    "SELECT i FROM a UNION TABLE secret",
    "SELECT * FROM a WHERE EXISTS (VALUES (1) UNION SELECT i FROM secret)",
    "SELECT i INTO secret2 FROM a",
    "SELECT is(1)",
    "SELECT over(1), filter(1), set(1), key(1), conflict(1)",
    'SELECT "f"(1), f (1), f/**/(1), F(1)',
    "SELECT count(*) filter (where f(i) > 0) over (order by g(i)) FROM a",
    "SELECT i FROM a GROUP BY cube(i)",
    "UPDATE a SET x = 1 FROM secret WHERE a.i = secret.i",
    "UPDATE a SET (x, y) = (SELECT i, i FROM secret)",
    "DELETE FROM a USING secret WHERE a.i = secret.i",
    "INSERT INTO a (i) SELECT i FROM secret ON CONFLICT DO NOTHING",
    "INSERT INTO a (i) VALUES (1) ON CONFLICT (i) DO UPDATE SET x = (SELECT max(i) FROM secret)",
    "INSERT INTO a (i) VALUES (1) RETURNING (SELECT max(i) FROM secret)",
    "REPLACE INTO a (i) SELECT i FROM secret",
    "SELECT trim(both 'a' from (SELECT 'a' FROM secret))",
    "SELECT 1 -- \n FROM secret",
    "SELECT 1 /* /* */ FROM secret -- */ */",
    "SELECT i AS from FROM secret",
    "SELECT a.is distinct FROM secret",
    "SELECT i FROM a ORDER BY (SELECT i FROM secret)",
    "SELECT i FROM a LIMIT (SELECT count(*) FROM secret)",
    "SELECT * FROM a WHERE i = ANY (SELECT i FROM secret)",
    "SELECT i FROM a WHERE i = ANY (1, 1)",
    "SELECT ARRAY(SELECT i FROM secret)",
    "SELECT * FROM a, LATERAL (SELECT * FROM secret) s",
    "SELECT 'a\\' , i FROM secret -- '",
    # To SQLite, brackets hold a name.
    "SELECT DISTINCT [f](1) FROM a",
    "SELECT i FROM a WHERE x REGEXP [f](1)",
    "SELECT CASE [f](1) WHEN 1 THEN 2 END",
    "SELECT f [g](1)",
    "SELECT i [u], secret.i FROM a, secret",
    "SELECT * FROM a [t1], secret",
    "SELECT * FROM a ARRAY[1], secret",
    "SELECT i [a], i FROM secret, [b]",
    "SELECT i FROM a ORDER BY i [1], x",
    "SELECT i IN [secret] FROM a",
    "SELECT i AS [secret.i], (SELECT i FROM secret) [x]",
    "SELECT CAST(i AS int[]) FROM secret",
    "SELECT ARRAY[1, (SELECT i FROM secret)]",
    "SELECT ARRAY['a]', f(1), 'b']",
    "SELECT ARRAY[1 -- ]\n, f(1)]",
    "SELECT (ARRAY[i, f(i)])[1] FROM secret",
    "SELECT i FROM secret WHERE i = ANY(ARRAY[1, 2])",
    "SELECT '{1}'::int[] FROM secret",
    "SELECT ARRAY[ARRAY[i], ARRAY[f(i)]] FROM secret",
]


@pytest.fixture(scope="module")
def lite() -> Lite:
    return Lite()


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[Postgres]:
    with Postgres.opened(postgres_url) as found:
        yield found


def compare(oracle: Lite | Postgres, texts: list[str]) -> Counter[str]:
    """Numbers of statements; fails with those of which the facet names too little."""
    seen: Counter[str] = Counter()
    wrong = []
    for text in texts:
        parts = parsed(text)
        touched = oracle.touched(text)
        seen["decidable" if parts else "undecidable"] += 1
        if touched is None:
            continue
        seen["accepted"] += 1
        if parts is None:
            seen["accepted, undecidable"] += 1
            continue
        beyond = touched.beyond(parts)
        if beyond:
            wrong.append(f"{text!r}: {beyond}")
    assert not wrong, "\n".join(wrong[:10])
    return seen


def test_traps_are_undecidable_or_name_all(lite: Lite, postgres: Postgres) -> None:
    assert compare(lite, TRAPS)["accepted"] > 25
    assert compare(postgres, TRAPS)["accepted"] > 15


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_sqlite_touches_nothing_that_the_facet_does_not_name(part: int, lite: Lite) -> None:
    texts = [Statements(seed, lite=True).statement() for seed in campaign.seeds(LITE, part, PARTS)]
    seen = compare(lite, texts)
    assert seen["accepted"] > len(texts) / 10
    assert seen["accepted, undecidable"] < seen["accepted"] / 2


@pytest.mark.campaign
def test_postgresql_depends_on_nothing_that_the_facet_does_not_name(postgres: Postgres) -> None:
    texts = [Statements(seed, lite=False).statement() for seed in campaign.seeds(FULL, 0, 1)]
    seen = compare(postgres, texts)
    assert seen["accepted"] > len(texts) / 20
