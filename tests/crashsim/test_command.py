"""`python -m bobcat.testing.crashsim`: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bobcat.testing.crashsim.__main__ import main

HERE = Path(__file__).parent
GOOD = f"{HERE / 'payments.py'}:keyed"
BAD = f"{HERE / 'payments.py'}:reconciled"


def test_a_campaign_in_which_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([GOOD]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0].split() == "point runs double lost guessed uncertain failed not ended where".split()
    assert lines[1].split() == ["undisturbed", "1", "0", "0", "0", "0", "0", "0"]
    assert lines[2].split()[:3] == ["kill", "1", "1"]
    assert lines[-1].startswith("keyed: ")
    assert lines[-1].endswith("0 double, 0 lost, 0 guessed, 0 uncertain, 0 failed, 0 not ended")


def test_a_campaign_in_which_something_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([BAD, "--kills", "0", "--workers", "2", "--limit", "48", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["double"], found["complete"]) == (3, False)
    assert [row["schedule"] for row in found["rows"] if "double" in row] == ["stop@16", "stop@25", "stop@34"]
    assert err.splitlines()[0] == "  stop@16: double pay 10"
    assert err.rstrip().endswith("to replay one: --replay stop@16")
    assert main([BAD, "--replay", "stop@16"]) == 1
    assert "stop@16: succeeded\n  double: pay 10" in capsys.readouterr().out
    assert main([BAD, "--kills", "0", "--workers", "2", "--limit", "45", "--no-stop-in-tools"]) == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["payments"], "error: `payments` does not name a scenario: write package.module:NAME or file.py:NAME"),
        (["there.is.none:x"], "error: `there.is.none` cannot be loaded: ModuleNotFoundError"),
        (
            [f"{HERE / 'payments.py'}:nothing"],
            "has no function `nothing`; a scenario is a function with a stage parameter",
        ),
        ([GOOD, "--replay", "x"], "error: invalid schedule 'x'"),
        ([f"{HERE / 'payments.py'}:Payer"], "error: the scenario raised TypeError: "),
    ],
)
def test_what_cannot_be_simulated_is_reported(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert text in capsys.readouterr().err


def test_invalid_arguments_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([GOOD, "--kills", "9"])
    assert ended.value.code == 2
