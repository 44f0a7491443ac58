"""`bobcat spend`: sums by each scope, unsettled reservations, and their settlement by an operator."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bobcat import Ledger
from unit.cli_runner import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys, monkeypatch)


def spend() -> str:
    """Spend by two tenants; return the reservation that is left."""

    async def main() -> str:
        async with Ledger("l.db") as ledger:
            for tenant, usd in (("acme", "1.50"), ("acme", 2), ("small", "0.000001")):
                held = await ledger.reserve(usd=5, tenant=tenant, run=f"run of {tenant}")
                await ledger.commit(held, usd=usd)
            await ledger.release(await ledger.reserve(usd=9, tenant="acme"))
            return (await ledger.reserve(model="gpt-5", output_tokens=1000, run="killed", tenant="small")).id

    return asyncio.run(main())


def test_spending_is_shown_by_tenant_and_by_run(run: Run) -> None:
    spend()
    assert run("spend", "l.db", "--by", "tenant").out.splitlines() == [
        "acme  $3.50  0 tokens  2 calls",
        "small  $0.000001  0 tokens  2 calls  $0.01 reserved",
    ]
    shown = run("spend", "sqlite:///l.db", "--by", "run", "--format", "json").json()
    assert [row["name"] for row in shown] == ["run of acme", "run of small", "killed"]
    assert shown[0] == {
        "name": "run of acme", "usd": "3.500000", "tokens": 0, "reserved_usd": "0.000000", "reserved_tokens": 0,
        "calls": 2,
    }  # fmt: skip
    (day,) = run("spend", "l.db", "--format", "json").json()
    assert (day["usd"], day["reserved_tokens"], day["calls"]) == ("3.500001", 1000, 4)
    later = run("spend", "l.db", "--since", "2999-01-01")
    assert (later.code, later.out, later.err) == (0, "", "nothing was spent\n")


@pytest.mark.parametrize(("option", "state"), [("--commit", "spent"), ("--release", "released")])
def test_an_operator_settles_a_reservation(run: Run, option: str, state: str) -> None:
    id = spend()
    (line,) = run("spend", "l.db", "--unsettled").out.splitlines()
    assert line.startswith(f"{id}  ")
    assert line.endswith(" ago  killed  $0.01  1,000 tokens  gpt-5")
    (listed,) = run("spend", "l.db", "--unsettled", "--format", "json").json()
    assert (listed["id"], listed["usd"], listed["tenant"]) == (id, "0.010000", "small")
    assert run("spend", "l.db", option, id).out == f"{id}  {state}\n"
    assert run("spend", "l.db", "--unsettled").err == "every reservation is settled\n"
    again = run("spend", "l.db", option, id)
    assert (again.code, f"was settled before: it is {state} (settled)" in again.err) == (4, True)
    usd = run("spend", "l.db", "--by", "run", "--format", "json").json()
    assert {row["name"]: row["usd"] for row in usd}.get("killed") == ("0.010000" if state == "spent" else None)


def test_a_missing_ledger_and_unclear_options_are_errors(run: Run, tmp_path: Path) -> None:
    missing = run("spend", "none.db")
    assert (missing.code, "there is no ledger at `none.db` (not_there)" in missing.err) == (3, True)
    assert not (tmp_path / "none.db").exists()
    spend()
    unknown = run("spend", "l.db", "--release", "x")
    assert "there is no reservation `x` (unknown)" in unknown.err
    both = run("spend", "l.db", "--unsettled", "--release", "x")
    assert (both.code, "exclude each other" in both.err) == (2, True)
    assert run("spend", "l.db", "--by", "week").code == 2


def test_options_without_effect_are_refused(run: Run) -> None:
    spend()
    for options in (
        ["--unsettled", "--by", "run"],
        ["--unsettled", "--since", "1h"],
        ["--commit", "x", "--limit", "5"],
    ):
        refused = run("spend", "l.db", *options)
        assert (refused.code, "has no effect with --" in refused.err, refused.out) == (2, True, "")
    assert run("spend", "l.db", "--limit", str(10**20)).code == 2


def test_lines_that_are_left_out_are_announced(run: Run) -> None:
    spend()
    some = run("spend", "l.db", "--by", "run", "--limit", "2", "--format", "json")
    assert [row["name"] for row in some.json()] == ["run of acme", "run of small"]
    assert some.err == "there are more lines than 2: raise --limit\n"
    assert run("spend", "l.db", "--by", "run", "--limit", "3").err == ""


def test_an_empty_ledger_is_no_error(run: Run) -> None:
    Ledger("l.db").close()
    for by in ("run", "thread", "principal", "tenant", "day", "month", "model"):
        shown = run("spend", "l.db", "--by", by)
        assert (shown.code, shown.out, shown.err) == (0, "", "nothing was spent\n")
    for options in ([], ["--unsettled"]):
        shown = run("spend", "l.db", "--format", "json", *options)
        assert (shown.code, shown.json(), shown.err) == (0, [], "")
