"""`--budget`: seconds for all questions of a command; what is not reached is unknown, by name."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from bobcat.analysis import engine
from unit.cli_runner import Run, runner

POLICY = "rules:\n" + "".join(
    f"  - {{id: r{number}, match: {{tool: t{number}, args.a: x, args.b.le: {number}}}, decision: deny}}\n"
    for number in range(1, 5)
)
WIDER = POLICY.replace("le: 1", "le: 9").replace("deny", "allow")
INVARIANTS = "invariants:\n" + "".join(
    f"  - {{id: i{number}, never: {{tool: t{number}, args.a: x}}}}\n" for number in range(1, 5)
)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in (("policy", POLICY), ("wider", WIDER), ("inv", INVARIANTS)):
        Path(f"{name}.yaml").write_text(text)
    return runner(capsys, monkeypatch)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock comes a second after the last one."""
    seconds = itertools.count(100.0)
    monkeypatch.setattr(engine, "time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.mark.usefixtures("ticking")
def test_what_one_question_leaves_is_the_time_of_the_next(run: Run) -> None:
    states = [line.split()[0] for line in run("prove", "policy.yaml", "inv.yaml", "--budget", "3").out.splitlines()]
    assert states[1:] == ["proved", "proved", "unknown", "budget_seconds:", "unknown", "budget_seconds:"]


@pytest.mark.usefixtures("ticking")
def test_the_pairs_of_two_revisions_share_the_budget(run: Run) -> None:
    for command in (
        ("init", "-q", "-b", "main"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"),
    ):  # fmt: skip
        subprocess.run(["git", *command], check=True, capture_output=True)
    Path("policy.yaml").write_text(WIDER)
    Path("wider.yaml").write_text(POLICY)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "b"], check=True)
    found = run("diff", "--git", "HEAD~1..HEAD", "--budget", "4.5", "--format", "json").json()
    assert [[reason["code"] for reason in item["reasons"]] for item in found] == [[], ["budget_seconds"]]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("prove", "policy.yaml", "inv.yaml"), ("i1", "i4")),
        (("dead", "policy.yaml"), ("`r1`", "`r4`")),
        (("holes", "policy.yaml"), ("`r1`", "`r4`")),
        (("surface", "policy.yaml"), ("t1", "t4", "any other tool")),
        (("can", "policy.yaml"), ()),
        (("trace-can", "policy.yaml"), ()),
        (("diff", "policy.yaml", "wider.yaml"), ()),
    ],
)
def test_a_budget_that_is_over_leaves_every_question_unknown_by_name(
    run: Run, command: tuple[str, ...], names: tuple[str, ...]
) -> None:
    done = run(*command, "--budget", "1e-9")
    assert "budget_seconds" in done.out
    assert "Traceback" not in done.err
    assert all(name in done.out for name in names)


@pytest.mark.usefixtures("ticking")
def test_clauses_that_were_not_compared_in_time_leave_their_rules_unknown(run: Run) -> None:
    done = run("dead", "policy.yaml", "--budget", "2.5")
    assert (
        "unknown: `r1`\n    budget_seconds: the time was over before all clauses of the rule were compared" in done.out
    )
    assert "unknown" not in run("dead", "policy.yaml", "--no-clauses", "--budget", "9").out
