"""`bobcat runs list`: conditions, order and pages, on every store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from operations.conftest import Site


@pytest.fixture
def filled(site: Site) -> Site:
    site.queue("answer", "a-1", "--tenant", "acme", "--payload", '{"question": "Where is ORDER 77?"}')
    site.queue("answer", "a-2", "--tenant", "bolt", "--version", "2")
    site.queue("fail", "f-1", "--tenant", "acme")
    site.queue("ask", "s-1")
    site.work()
    site.queue("answer", "q-1", "--tenant", "acme", "--version", "3")
    return site


def test_every_condition_selects_and_they_combine(filled: Site) -> None:
    assert sorted(filled.ids()) == ["a-1", "a-2", "f-1", "q-1", "s-1"]
    assert sorted(filled.ids("--status", "succeeded,dead")) == ["a-1", "a-2", "f-1"]
    assert sorted(filled.ids("--status", "queued", "--status", "suspended")) == ["q-1", "s-1"]
    assert sorted(filled.ids("--tenant", "acme")) == ["a-1", "f-1", "q-1"]
    assert filled.ids("--tenant", "") == ["s-1"]
    assert sorted(filled.ids("--kind", "answer")) == ["a-1", "a-2", "q-1"]
    assert filled.ids("--kind", "answer@2") == ["a-2"]
    assert filled.ids("--kind", "answ") == []
    assert filled.ids("--tenant", "acme", "--kind", "answer", "--status", "succeeded") == ["a-1"]
    assert filled.ids("--text", "order 77") == ["a-1"], "the task"
    assert filled.ids("--text", "MODEL IS AWAY") == ["f-1"], "the error"
    assert filled.ids("--text", "s-1") == ["s-1"], "the id"
    assert filled.ids("--older", "1h") == []
    assert len(filled.ids("--newer", "1h")) == 5
    assert len(filled.ids("--older", "0s")) == 5


def test_an_age_separates_runs(site: Site) -> None:
    site.queue("answer", "first")

    async def moment(store: Any) -> Any:
        return await store.now()

    began = site.with_store(moment)
    while site.with_store(moment) - began < timedelta(seconds=1.5):
        pass
    site.queue("answer", "second")
    assert site.ids("--older", "1s") == ["first"]
    assert site.ids("--newer", "1s") == ["second"]


def test_pages_have_every_run_once_in_one_order(filled: Site) -> None:
    whole = filled.ids()
    pages: list[str] = []
    after: list[str] = []
    for _ in range(10):
        page = filled.bobcat("runs", "list", "--format", "json", "--limit", "2", *after).json()
        pages += [run["run_id"] for run in page]
        if not page:
            break
        after = ["--after", f"{page[-1]['updated']}/{page[-1]['run_id']}"]
    assert pages == whole


def test_a_page_of_a_selection_goes_on_after_its_last_run(filled: Site) -> None:
    first = filled.bobcat("runs", "list", "--tenant", "acme", "--limit", "1")
    cursor = first.err.partition("--after '")[2].rstrip("'\n")
    rest = filled.ids("--tenant", "acme", "--after", cursor)
    assert sorted([first.out.split()[0], *rest]) == ["a-1", "f-1", "q-1"]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (["--status", "done"], "`done` is not one of queued, running"),
        (["--older", "soon"], "`soon` is not a time span"),
        (["--newer", "-1d"], "is not a time span"),
        (["--older", "99999999999w"], "is too long"),
        (["--older", "999999d"], "too long"),
        (["--after", "r-1"], "not `TIME/RUN`"),
        (["--limit", "0"], "--limit"),
    ],
)
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_conditions_that_mean_nothing_are_usage_errors(site: Site, options: list[str], reported: str) -> None:
    site.queue("answer", "a")
    done = site.bobcat("runs", "list", *options)
    assert (done.code, done.out) == (2, "")
    assert reported in done.err
