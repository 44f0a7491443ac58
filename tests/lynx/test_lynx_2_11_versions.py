"""`bobcat.lynx.install(version=)`: which names `lynx` and `bobcat.lynx` have, in this process and in others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bobcat
from bobcat.lynx.surface import ADDED, CHANGED

SOURCES = str(Path(bobcat.__file__).parents[1])
NEW = (
    "from lynx import GovernedCall, ToolGuard, VerifyResult, hash_chained_sink, otel_sink, verify_chain\n"
    "from lynx import Combiner, LayeredPolicyBundle, Obligation, ObligationOutcome, Policy, PolicyLayer\n"
    "from lynx import first_layer_wins, last_layer_wins, strict_overrides_loose\n"
    "from lynx.core.mediator import ObligationHandler, ObligationRegistry\n"
    "from lynx.sinks import GENESIS_HASH\n"
    "from lynx.integrations.openai_agents import governed_function_tools, render_result\n"
    "from lynx.proxy.mcp_proxy import GovernedProxy, ToolClassifier, default_classify, govern_call\n"
)


def python(*arguments: str, cwd: Path, status: int = 0, **variables: str) -> str:
    """Run Python; return its output, both streams."""
    inherited = {name: value for name, value in os.environ.items() if name != "BOBCAT_LYNX_VERSION"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env={**inherited, "PYTHONPATH": SOURCES, **variables},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def test_version_2_11_has_its_names_under_both_packages(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx, sys; bobcat.lynx.install(version='2.11')\n"
        f"import lynx\n{NEW}"
        "import bobcat.lynx.integrations.core as core, bobcat.lynx.proxy.mcp_proxy as proxy\n"
        "from bobcat.lynx import *\n"
        "assert lynx is bobcat.lynx and lynx.__version__ == '2.11.1'\n"
        "assert core.ToolGuard is ToolGuard is lynx.ToolGuard and proxy.GovernedProxy is GovernedProxy\n"
        "assert lynx.integrations is sys.modules['bobcat.lynx.integrations'] is sys.modules['lynx.integrations']\n"
        "assert all(hasattr(lynx, name) for name in lynx.__all__) and 'verify_chain' in lynx.__all__\n"
        "assert lynx.Budget().steps == 50 and lynx.GraphNode(1, 2, 3).budget.steps == 50\n"
        "from lynx.cli.main import cli; print(sorted(cli.commands))\n"
    )
    assert python("-c", code, cwd=tmp_path) == "['init', 'policy', 'run', 'trace', 'verify']\n"


def test_the_default_is_2_5_without_any_trace_of_2_11(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx\n"
        "before = {name: vars(bobcat.lynx).get(name) for name in bobcat.lynx.__all__}\n"
        "old = bobcat.lynx.Decision\n"
        "bobcat.lynx.install(version='2.11')\n"
        "import lynx.integrations, lynx.proxy.mcp_proxy, lynx.sinks, lynx.cli.main\n"
        "held = lynx.ToolGuard\n"
        "layered = lynx.compile_policy([lynx.PolicyLayer('a', 'rules: []')])\n"
        "assert lynx.Decision is lynx.core.types.Decision is not old and issubclass(lynx.Decision, old)\n"
        "bobcat.lynx.install()\n"
        "import lynx\n"
        "assert lynx.__version__ == '2.5.0' and len(lynx.__all__) == 67\n"
        "assert before == {name: vars(bobcat.lynx).get(name) for name in bobcat.lynx.__all__}\n"
        "assert not {'ToolGuard', 'integrations', 'proxy', 'otel_sink', 'PolicyLayer'} & {*vars(lynx)}\n"
        "assert lynx.Decision is old and not hasattr(lynx.core.mediator, 'ObligationRegistry')\n"
        "import pickle; assert pickle.loads(pickle.dumps(layered)) == layered\n"
        "assert not hasattr(lynx.sinks, 'verify_chain') and 'verify' not in lynx.cli.main.cli.commands\n"
        "for name in ('lynx.integrations', 'lynx.proxy', 'lynx.integrations.core', 'bobcat.lynx.proxy.mcp_proxy'):\n"
        "    try: __import__(name)\n"
        "    except ModuleNotFoundError as error: assert error.name.startswith(name.rpartition('.')[0]), error\n"
        "    else: print(name)\n"
        "bobcat.lynx.install(version='2.11')\n"
        "import lynx.integrations; assert lynx.integrations.ToolGuard is held\n"
        "bobcat.lynx.uninstall(); assert not hasattr(bobcat.lynx, 'ToolGuard')\n"
        "print(bobcat.lynx.compile_policy('rules: [{id: r, match: {tool: shell}, decision: deny}]').id)\n"
    )
    assert python("-c", code, cwd=tmp_path) == "e830418e2d6f7717\n"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("from lynx import nothing", "ImportError: cannot import name 'nothing'"),
        ("import lynx.nothing", "ModuleNotFoundError: No module named 'lynx.nothing'"),
        ("lynx.compile_policy([])", "bobcat.errors.PolicyCompileError: compile_policy([...]) requires at least one"),
        ("lynx.compile_policy('rules: []', merge=max)", "bobcat.errors.PolicyCompileError: merge= is only valid"),
    ],
)
def test_what_2_11_lacks_is_an_error_that_says_so(statement: str, words: str, tmp_path: Path) -> None:
    code = f"import bobcat.lynx; bobcat.lynx.install(version='2.11')\nimport lynx\n{statement}\n"
    out = python("-W", "ignore", "-c", code, cwd=tmp_path, status=1)
    assert out.splitlines()[-1].startswith(words), out


@pytest.mark.parametrize("version", ["2.6", "2.11.1", "", 2.11, 2.5, None, b"2.11"])
def test_another_version_is_refused(version: object) -> None:
    import bobcat.lynx

    with pytest.raises(ValueError, match=r"version must be one of '2\.5', '2\.11', got"):
        bobcat.lynx.install(version=version)  # type: ignore[arg-type]
    assert bobcat.lynx.__version__ == "2.5.0"


def test_ids_are_those_of_the_version(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("rules: [{id: r, match: {tool: shell}, decision: deny, obligations: []}]\n")
    code = (
        "import bobcat.lynx; bobcat.lynx.install(version=%r)\n"
        "import lynx, pickle; one = lynx.load_policy_file('policy.yaml')\n"
        "assert pickle.loads(pickle.dumps(one)).id == one.id; print(one.id, one.digest[:8])"
    )
    old, new = (python("-W", "ignore", "-c", code % version, cwd=tmp_path).split() for version in ("2.5", "2.11"))
    assert (old[0], new[0]) == ("e830418e2d6f7717", "48ef5440702afcd9")
    assert old[1] == new[1]


def test_threads_that_select_versions_leave_one_of_them(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx, sys; from concurrent.futures import ThreadPoolExecutor\n"
        "sys.setswitchinterval(1e-6)\n"
        "names = lambda: {name: vars(bobcat.lynx)[name] for name in bobcat.lynx.__all__}\n"
        "before = names()\n"
        "versions = ['2.5', '2.11', '2.11'] * 100\n"
        "with ThreadPoolExecutor(8) as threads:\n"
        "    list(threads.map(lambda version: bobcat.lynx.install(version=version), versions))\n"
        "import lynx; print({'2.5.0': False, '2.11.1': True}[lynx.__version__] == hasattr(lynx, 'PolicyLayer'))\n"
        "bobcat.lynx.install()\n"
        "print(before == names(), hasattr(lynx, 'PolicyLayer'))\n"
    )
    assert python("-c", code, cwd=tmp_path) == "True\nTrue False\n"


def test_child_processes_have_the_same_version(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx, os, subprocess, sys; bobcat.lynx.install(children=True, version='2.11')\n"
        "child = [sys.executable, '-c', 'import lynx; print(lynx.__version__, hasattr(lynx, \"ToolGuard\"))']\n"
        "run = lambda: print(subprocess.run(child, capture_output=True, text=True).stdout.strip())\n"
        "run(); bobcat.lynx.install(children=True); run(); bobcat.lynx.uninstall()\n"
        "print('children' in os.environ['PYTHONPATH'], any('children' in path for path in sys.path))"
    )
    assert python("-c", code, cwd=tmp_path).splitlines() == ["2.11.1 True", "2.5.0 False", "False False"]


@pytest.mark.parametrize("words", [["--version", "2.11"], ["--version=2.11"], []])
def test_programs_run_unchanged_as_2_11(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f"import sys, lynx\n{NEW}print(lynx.__version__, sys.argv[1:])\n")
    variables = {} if words else {"BOBCAT_LYNX_VERSION": "2.11"}
    out = python("-m", "bobcat.lynx", *words, "script.py", "--version", cwd=tmp_path, **variables)
    assert out == "2.11.1 ['--version']\n"


@pytest.mark.parametrize(
    ("words", "variable", "text"),
    [
        (["--version", "2.9", "s.py"], "", "version must be one of '2.5', '2.11', got '2.9'"),
        (["--version"], "", "version must be one of '2.5', '2.11', got ''"),
        (["s.py"], "3", "BOBCAT_LYNX_VERSION: version must be one of '2.5', '2.11', got '3'"),
    ],
)
def test_a_wrong_version_is_a_usage_error(words: list[str], variable: str, text: str, tmp_path: Path) -> None:
    out = python("-m", "bobcat.lynx", *words, cwd=tmp_path, status=2, BOBCAT_LYNX_VERSION=variable)
    assert out.startswith(f"python -m bobcat.lynx: {text}\nusage:")


COMMAND = "import sys; from bobcat.lynx.cli.main import main; sys.argv = ['lynx', *%r]; main()"


def test_the_command_lynx_has_verify_in_2_11(tmp_path: Path) -> None:
    chain = str(Path(__file__).with_name("chain_of_2_11.jsonl"))
    verify = COMMAND % ["verify", chain]
    assert python("-c", verify, cwd=tmp_path, BOBCAT_LYNX_VERSION="2.11") == "intact: 3 events, chain verified\n"
    assert "No such command 'verify'" in python("-c", verify, cwd=tmp_path, status=2)
    assert python("-c", verify, cwd=tmp_path, status=2, BOBCAT_LYNX_VERSION="x").startswith("lynx: BOBCAT_LYNX_VERSION")
    words = ["-m", "bobcat.lynx", "--version", "2.11", "-m", "lynx.cli.main", "verify", chain]
    assert python(*words, cwd=tmp_path) == "intact: 3 events, chain verified\n"


def test_every_module_of_the_table_is_there() -> None:
    """What `surface` lists is what the directory has."""
    home = Path(bobcat.__file__).parent / "lynx" / "v2_11"
    files = {path.relative_to(home).with_suffix("").as_posix().replace("/", ".") for path in home.rglob("*.py")}
    paths = {name.removesuffix("__init__").removesuffix(".") for name in files}
    own = {
        "adapters", "bundles", "cli", "combiners", "core", "deciding", "fulfilment", "governing", "hash_chain",
        "layers", "obligations", "obliged_run", "otel", "proxy.governed", "proxy.serving", "rule_outcome",
    }  # fmt: skip
    assert paths - own == {*CHANGED, *ADDED}
