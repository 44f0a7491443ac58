"""`python -m bobcat.testing.crashsim package.module:scenario`: a campaign from the command line.

Exit status: 0 without faults, 1 if an effect is double, lost or guessed or a run does not end, 2 if the scenario
cannot be simulated or the arguments are invalid.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from bobcat.testing.crashsim.campaign import campaign, replay
from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.scenario import ScenarioFactory
from bobcat.text.display import safe_text


class _NoScenario(Exception):
    """The named object is not a scenario."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, or replay one run of it, and print the result. Returns the exit status."""
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
    except Exception as error:  # the scenario is user code
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = "".join(traceback.format_exception_only(error)).strip()
        print(
            f"error: the scenario raised {safe_text(message)} ({safe_text(where.filename)}:{where.lineno})",
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
        description="Kill a run at every point, and race it; count double, lost and uncertain effects.",
    )
    parser.add_argument("scenario", help="package.module:NAME or file.py:NAME")
    parser.add_argument("--kills", type=int, choices=(0, 1, 2), default=1, help="kills per run (1)")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1, help="concurrent workers (1)")
    parser.add_argument("--no-stop-in-tools", action="store_true", help="never stop a worker during a tool call")
    parser.add_argument("--limit", type=int, help="maximum number of runs, sampled if there would be more")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample (0)")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--replay", metavar="SCHEDULE", help="replay one run, such as kill@12+7, and show it")
    return parser


def _load(text: str) -> ScenarioFactory:
    place, colon, name = text.rpartition(":")
    if not colon or not name:
        raise _NoScenario(f"`{text}` does not name a scenario: write package.module:NAME or file.py:NAME")
    sys.path.insert(0, "")
    try:
        names = runpy.run_path(place) if place.endswith(".py") else vars(import_module(place))
    except Exception as error:  # an import may raise anything
        lines = "".join(traceback.format_exception_only(error)).strip()
        raise _NoScenario(f"`{place}` cannot be loaded: {lines}") from error
    found: ScenarioFactory | None = names.get(name)
    if not callable(found):
        raise _NoScenario(f"`{place}` has no function `{name}`; a scenario is a function with a stage parameter")
    return found


if __name__ == "__main__":
    sys.exit(main())
