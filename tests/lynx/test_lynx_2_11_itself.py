"""`bobcat.lynx` as lynx-agent 2.11, and lynx-agent 2.11 itself: its own tests, and the same calls and files by both.

lynx-agent is fetched from the package registry into an environment that is thrown away, so these run in campaigns only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import bobcat
import campaign
from bobcat.lynx.installing import CHILDREN
from lynx_differences import OTHER_OUTPUT, OTHERWISE

pytestmark = [pytest.mark.slow, pytest.mark.campaign]
TESTS = Path(__file__).parents[1]
RELEASE = "lynx-agent==2.11.1"
NEEDED = ["msgspec", "PyYAML", "google-re2", "click", "rich"]
SDKS = ["mcp>=1.24,<2", "openai-agents>=0.20", "opentelemetry-sdk>=1.30", "anthropic>=0.60", "openai>=2"]
SUITE = ["pytest", "pytest-asyncio", "hypothesis"]
OURS = (
    "adapters",
    "compressors",
    "hash_chain",
    "integrations",
    "otel_sink",
    "mcp_proxy",
    "mcp_proxy_live",
    "fastmcp_proxy",
    "cli",
    "openai_compat",
    "layered_policy",
    "obligations",
    "release_hygiene",
)
"""Their tests of the parts that Bobcat has."""
UNCHANGED = (
    "cancel", "durability", "executors", "graph", "policy", "run_agent", "sandbox", "shadows", "sinks_and_approvals",
    "types", "usage",
)  # fmt: skip
"""Their tests of what 2.5 has, too."""


UNSTABLE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8}(-[0-9a-f-]{27})?\b|/tmp/\S+|\d{4}-\d\d-\d\dT[^\"\s]*|\d+(\.\d+)? ?ms")
"""Ids, directories, times and durations in outputs."""


@dataclass(frozen=True)
class Environment:
    """An interpreter where `lynx` is `bobcat.lynx` as 2.11, and the directories of lynx-agent itself."""

    python: Path
    package: Path
    source: Path


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with tempfile.TemporaryDirectory(prefix="bobcat-lynx-") as name:
        place = Path(name)
        subprocess.run([sys.executable, "-m", "venv", place / "env"], check=True)
        python = place / "env" / "bin" / "python"
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *NEEDED, *SDKS, *SUITE], check=True)
        subprocess.run([*pip, "install", "--no-deps", "--target", place / "theirs", RELEASE], check=True)
        subprocess.run([*pip, "download", "--no-deps", "--no-binary", ":all:", "-d", place, RELEASE], check=True)
        (archive,) = place.glob("*.tar.gz")
        subprocess.run(["tar", "-xzf", archive, "-C", place], check=True)
        (packages,) = (place / "env" / "lib").glob("python*/site-packages")
        # Not the variable PYTHONPATH: servers of MCP are started without it.
        (packages / "ours.pth").write_text(f"{CHILDREN['2.11']}\n{Path(bobcat.__file__).parents[1]}\n")
        yield Environment(python, place / "theirs", place / archive.name.removesuffix(".tar.gz"))


@pytest.mark.parametrize("part", [*OURS, *UNCHANGED])
def test_their_own_tests_pass(part: str, environment: Environment) -> None:
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    done = subprocess.run(
        [*command, f"tests/test_{part}.py"], cwd=environment.source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert " passed" in done.stdout
    assert " skipped" not in done.stdout


def run_program(environment: Environment, words: list[str], place: Path, *, theirs: bool) -> str:
    """Run a program of this directory with one of the packages; return its output."""
    paths = [str(environment.package)] if theirs else []
    path = os.pathsep.join([*paths, str(TESTS), str(TESTS / "lynx")])
    found = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}  # sets have one order
    command = [environment.python, "-W", "ignore", "-m", *words]
    done = subprocess.run(command, cwd=place, env=found, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-8000:]
    return done.stdout


def play(environment: Environment, where: Path, *, theirs: bool) -> list[Any]:
    words = ["played_2_11", str(campaign.FIRST_SEED), str(campaign.rounds(300)), where.name]
    out = run_program(environment, words, where.parent, theirs=theirs)
    return [json.loads(line.replace(where.name, "DIRECTORY")) for line in out.splitlines()]


def test_both_do_the_same(
    environment: Environment, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    places = [tmp_path / "theirs", tmp_path / "ours"]
    for place in places:
        place.mkdir()
    theirs, ours = (play(environment, place, theirs=place.name == "theirs") for place in places)
    assert len(theirs) == len(ours)
    for known, found in zip(theirs, ours, strict=True):
        assert found == known
    played = Counter(name.split()[0] for name, found in theirs if found is not None)
    assert min(played[name] for name in ("guard", "proxy", "chain", "verify", "otel", "commands", "run")) > 0
    for name, count in played.items():
        record_property(f"cases beside lynx-agent 2.11, {name}", count)


def test_layers_and_obligations_are_the_same(
    environment: Environment, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    words = ["layers_of_2_11", str(campaign.FIRST_SEED), str(campaign.rounds(1000))]
    theirs, ours = (run_program(environment, words, tmp_path, theirs=each).splitlines() for each in (True, False))
    assert len(theirs) == len(ours)
    for known, found in zip(theirs, ours, strict=True):
        assert json.loads(found) == json.loads(known)
    played = Counter(name.split()[0] for name, found in map(json.loads, theirs) if found is not None)
    assert min(played[name] for name in ("layered", "single", "mediated", "ran")) > 0
    for name, count in played.items():
        record_property(f"cases beside lynx-agent 2.11, {name}", count)


def test_every_name_is_there_and_is_called_the_same_way(environment: Environment, tmp_path: Path) -> None:
    theirs, ours = (json.loads(run_program(environment, ["names_of_2_11"], tmp_path, theirs=each)) for each in (1, 0))
    assert ours["version"] == theirs["version"]
    for module, names in theirs["modules"].items():
        known = ours["modules"][module]
        assert not names.keys() - known.keys(), module
        for name, (parameters, fields) in names.items():
            if name in OTHERWISE or known[name] == [None, None]:
                continue
            for given, found in zip((parameters, fields), known[name], strict=True):
                required = [each[:-1] for each in given or ()]
                assert required == [each[:-1] for each in found or () if each[:-1] in required], (module, name)


@pytest.mark.parametrize("number", range(32, 42))
def test_their_examples_run_unchanged(number: int, environment: Environment, tmp_path: Path) -> None:
    (script,) = (environment.source / "examples").glob(f"{number}_*.py")
    outputs = []
    for words in (["-m", "bobcat.lynx", "--version", "2.11"], []):
        variables = {"PYTHONPATH": str(environment.package)} if not words else {}
        command = [environment.python, "-W", "ignore", *words, script]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-8000:]
        lines = UNSTABLE.sub("", done.stdout).splitlines()
        outputs.append(sorted(re.sub(r"\W+", " ", line) for line in lines))  # parallel runs have no order
    if number not in OTHER_OUTPUT:
        assert outputs[0] == outputs[1]


def test_each_verifies_the_chains_of_the_other(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    for writer in (True, False):
        where = tmp_path / ("theirs" if writer else "ours")
        written, read = (play(environment, where, theirs=each) for each in (writer, not writer))
        chains = [[entry for entry in found if entry[0].startswith(("chain", "verify"))] for found in (written, read)]
        assert chains[0] == chains[1]
        assert all(found[0][0] for name, found in chains[0] if name.startswith("verify"))


def test_their_function_tools_fail_where_ours_work(environment: Environment) -> None:
    program = (
        "import lynx, lynx.integrations.openai_agents as door\n"
        "@lynx.tool(scope=('a',))\n"
        "async def read(path: str) -> str: return path\n"
        "policy = lynx.compile_policy('rules: []')\n"
        "try: print(len(door.governed_function_tools(lynx.ToolSet.from_functions(read), policy=policy)))\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    answers = []
    for path in ("", str(environment.package)):
        found = {**os.environ, "PYTHONPATH": path}
        command = [environment.python, "-c", program]
        answers.append(subprocess.run(command, env=found, capture_output=True, text=True, check=True).stdout.strip())
    assert answers == ["1", "PydanticUserError"]
