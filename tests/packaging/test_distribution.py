"""The installed package: the metadata, the typing marker, the command, and what importing costs."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import bobcat
from bobcat import _core

WORKER = """
import sys
import bobcat
bobcat.evaluate, bobcat.load_bundle
print(*sorted({name.partition(".")[0] for name in sys.modules}))
print(*sorted(name for name in sys.modules if name.startswith("bobcat.")))
"""


PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_installed_version_is_that_of_the_core() -> None:
    assert importlib.metadata.version("bobcat") == _core.__version__


def test_the_package_is_typed() -> None:
    assert files("bobcat").joinpath("py.typed").is_file()
    assert files("bobcat").joinpath("_core.pyi").is_file()


@pytest.mark.parametrize(
    ("name", "function"), [("bobcat", "bobcat.cli.main:main"), ("lynx", "bobcat.lynx.cli.main:main")]
)
def test_the_commands_are_installed(name: str, function: str) -> None:
    assert PROJECT["scripts"][name] == function
    assert callable(importlib.metadata.EntryPoint(name, function, "console_scripts").load())


FRAMEWORKS = {
    "adk", "agent-framework", "claude-agent-sdk", "langchain", "litellm", "openai-agents", "pydantic-ai", "strands",
}  # fmt: skip
LEFT_OUT = {"all", "crewai", *FRAMEWORKS}
"""CrewAI restricts other packages; the others are frameworks, of which a program rarely needs more than one."""


def test_the_extra_of_everything_has_every_other_extra_that_is_not_left_out() -> None:
    extras = PROJECT["optional-dependencies"]
    [everything] = extras["all"]
    named = everything.removeprefix("bobcat[").removesuffix("]").split(",")
    assert sorted([*named, *LEFT_OUT]) == sorted(extras)


def test_the_license_is_shipped() -> None:
    assert importlib.metadata.metadata("bobcat")["License-Expression"] == "Apache-2.0"


def test_signing_is_optional() -> None:
    requires = importlib.metadata.requires("bobcat") or []
    lines = [line for line in requires if line.startswith("cryptography")]
    assert lines
    assert all(re.search(r"; extra == .(sign|undo).$", line) for line in lines)


def test_a_name_whose_extra_is_not_installed_says_how_to_install_it() -> None:
    probe = (
        "import sys\nsys.modules['psycopg'] = sys.modules['procrastinate'] = None\n"
        "try:\n    from bobcat.workers import ProcrastinateDispatcher\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("Install with: pip install 'bobcat[workers,postgres]'\n")


def test_a_worker_imports_neither_the_front_end_nor_the_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", WORKER], capture_output=True, text=True, check=True)
    packages, modules = (set(line.split()) for line in done.stdout.splitlines())
    assert not packages & {"yaml", "re2", "click", "rich"}
    assert not modules & {"bobcat.compiler", "bobcat.frontend", "bobcat.lint"}


def test_every_public_name_can_be_imported() -> None:
    for name in bobcat.__all__:
        assert getattr(bobcat, name) is not None
