"""`python -m bobcat.testing.crashsim package.module:scenario`: a campaign from the command line.

Exit status: 0 when nothing is wrong, 1 when something is double, lost, guessed or does not end, 2 when the scenario
cannot be simulated or the arguments are none.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from bobcat.display import safe_text
from bobcat.testing.crashsim.campaign import campaign, replay
from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.scenario import ScenarioFactory


class _NoScenario(Exception):
    """What was named is no scenario."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Have the campaign, or one run of it again, and print what came of it. The exit status."""
    given = _parser().parse_args(arguments)
    try:
        scenario = _load(given.scenario)
        if given.replay is not None:
            again = replay(scenario, given.replay)
            print(again)
            return 0 if again.row.clean else 1
        report = campaign(
            scenario, kills=given.kills, workers=given.workers, stop_in_tools=not given.no_stop_in_tools,
            limit=given.limit, seed=given.seed,
        )  # fmt: skip
    except (_NoScenario, SimulationError, ValueError) as error:
        print(f"error: {safe_text(error)}", file=sys.stderr)
        return 2
    except Exception as error:  # the scenario is the user's
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = "".join(traceback.format_exception_only(error)).strip()
        print(
            f"error: the scenario raised {safe_text(told)} ({safe_text(where.filename)}:{where.lineno})",
            file=sys.stderr,
        )
        return 2
    if given.format == "json":
        print(report.to_json())
    else:
        print(report.table(), report, sep="\n\n")
    if not report.faults:
        return 0
    print(report.faults_text(f"--replay {report.faults[0].schedule}"), file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bobcat.testing.crashsim",
        description="Kill a run at every point, and race it; count what is double, lost or in doubt.",
    )
    parser.add_argument("scenario", help="package.module:NAME or file.py:NAME")
    parser.add_argument("--kills", type=int, choices=(0, 1, 2), default=1, help="deaths of a run (1)")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1, help="workers that run at the same time (1)")
    parser.add_argument("--no-stop-in-tools", action="store_true", help="never stop a worker that is calling a tool")
    parser.add_argument("--limit", type=int, help="the most runs, drawn at random where there would be more")
    parser.add_argument("--seed", type=int, default=0, help="what they are drawn by (0)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--replay", metavar="SCHEDULE", help="have one run again, such as kill@12+7, and show it")
    return parser


def _load(text: str) -> ScenarioFactory:
    place, colon, name = text.rpartition(":")
    if not colon or not name:
        raise _NoScenario(f"`{text}` names no scenario: write package.module:NAME or file.py:NAME")
    sys.path.insert(0, "")
    try:
        names = runpy.run_path(place) if place.endswith(".py") else vars(import_module(place))
    except Exception as error:  # what is imported may raise anything
        lines = "".join(traceback.format_exception_only(error)).strip()
        raise _NoScenario(f"`{place}` cannot be loaded: {lines}") from error
    found: ScenarioFactory | None = names.get(name)
    if not callable(found):
        raise _NoScenario(f"`{place}` has no function `{name}`; a scenario is one that takes a stage")
    return found


if __name__ == "__main__":
    sys.exit(main())
