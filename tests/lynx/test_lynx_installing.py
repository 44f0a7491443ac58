"""Programs that import `lynx` run on Bobcat: after `install()`, in their child processes, and under `python -m`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, sys
import lynx
from lynx import Budget, FinalAnswer, ToolCall, ToolSet, compile_policy, run_agent, subprocess_executor, tool
from lynx.core.types import now_utc
import lynx.adapters._schema

@tool()
async def where(x: str) -> str:
    import lynx as again
    return again.__name__ + x

class Agent:
    done = False
    async def step(self, conversation):
        if self.done:
            return FinalAnswer(conversation[-1].content)
        self.done = True
        return ToolCall("where", {"x": "!"})

async def main():
    policy = compile_policy("rules: [{match: {tool: where}, decision: allow}]")
    result = await run_agent(
        Agent(), "t", tools=ToolSet.from_functions(where), policy=policy,
        executor=subprocess_executor() if "--sandbox" in sys.argv else None, budget=Budget(steps=3),
    )
    print(result.final_answer, result.error, lynx.__version__, sys.argv[1:], __name__)

if __name__ == "__main__":
    asyncio.run(main())
"""


def python(*arguments: str, cwd: Path, status: int = 0) -> str:
    """The output of a Python process; it must end as expected, and the real lynx-agent must not be touched."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, env={**os.environ}, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + (done.stderr if status else "")


@pytest.mark.parametrize("sandbox", [False, True])
def test_a_script_runs_unchanged_under_dash_m(tmp_path: Path, sandbox: bool) -> None:
    (tmp_path / "script.py").write_text(PROGRAM)
    flags = ["--sandbox"] if sandbox else []
    out = python("-m", "bobcat.lynx", "script.py", "a", *flags, cwd=tmp_path)
    assert out == f"[ok] bobcat.lynx! None 2.5.0 {['a', *flags]} __main__\n"


def test_a_module_runs_unchanged_under_dash_m(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert python("-m", "bobcat.lynx", "-m", "program", cwd=tmp_path).startswith("[ok] bobcat.lynx!")


def test_a_script_finds_its_neighbours_and_its_exit_code_comes_out(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "neighbour.py").write_text("CODE = 7\n")
    (folder / "script.py").write_text("import sys, neighbour\nsys.exit(neighbour.CODE)\n")
    python("-m", "bobcat.lynx", "deep/script.py", cwd=tmp_path, status=7)


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["missing.py"], 2), (["--help"], 0)])
def test_the_usage_is_shown(tmp_path: Path, arguments: list[str], status: int) -> None:
    out = python("-m", "bobcat.lynx", *arguments, cwd=tmp_path, status=status)
    assert "usage: python -m bobcat.lynx" in out


def test_install_makes_every_module_the_same_object(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx, sys; bobcat.lynx.install(); bobcat.lynx.install()\n"
        "import lynx.core.types, lynx.cli.main as cli, importlib\n"
        "from lynx.shadows import sql\n"
        "assert lynx is bobcat.lynx and lynx.core.types is sys.modules['bobcat.lynx.core.types']\n"
        "assert importlib.import_module('lynx.policy') is bobcat.lynx.policy\n"
        "assert lynx.core.types.__spec__.name == 'bobcat.lynx.core.types'\n"
        "try: import lynx.nothing\n"
        "except ModuleNotFoundError as error: print(error)\n"
        "bobcat.lynx.uninstall()\n"
        "import lynx; assert lynx is not bobcat.lynx; print(lynx.__name__)\n"
    )
    assert python("-c", code, cwd=tmp_path) == "No module named 'lynx.nothing'\nlynx\n"


def test_install_after_an_import_of_the_other_package_warns_and_replaces_it(tmp_path: Path) -> None:
    code = (
        "import lynx, warnings, bobcat.lynx\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always'); bobcat.lynx.install()\n"
        "import lynx as now; assert now is bobcat.lynx is not lynx\n"
        "print([item.category.__name__ for item in caught])\n"
    )
    assert python("-c", code, cwd=tmp_path) == "['RuntimeWarning']\n"


def test_child_processes_follow_only_when_asked(tmp_path: Path) -> None:
    code = (
        "import bobcat.lynx, subprocess, sys; bobcat.lynx.install(children=%s)\n"
        "child = [sys.executable, '-c', 'import lynx; print(lynx.__name__)']\n"
        "print(subprocess.run(child, capture_output=True, text=True).stdout)"
    )
    assert python("-c", code % True, cwd=tmp_path).strip() == "bobcat.lynx"
    assert python("-c", code % False, cwd=tmp_path).strip() == "lynx"


WHAT_A_SCRIPT_SEES = """
import atexit, os, pickle, sys, traceback
import __main__

class Value:
    pass

def seen():
    return [__name__, __file__, sys.argv, sys.path[0], __spec__, __main__.__file__, sys.modules["__main__"] is __main__,
            type(pickle.loads(pickle.dumps(Value()))) is Value, annotated.__annotations__, __doc__, __package__]

def annotated(x: int): ...

os.chdir("/")
print(seen())
atexit.register(lambda: print(__name__, sys.modules["__main__"] is __main__, Value is __main__.Value))
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc(file=sys.stdout)
"""


@pytest.mark.parametrize("where", ["script.py", "deep/script.py", "./deep/../script.py"])
def test_a_script_sees_what_it_sees_under_python(tmp_path: Path, where: str) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / where).write_text(WHAT_A_SCRIPT_SEES)
    plain = python(where, "a", cwd=tmp_path)
    assert len(plain.splitlines()) > 4
    assert python("-m", "bobcat.lynx", where, "a", cwd=tmp_path) == plain


def test_a_script_can_start_processes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import multiprocessing, lynx\n"
        "def work(n):\n"
        "    import lynx\n"
        "    return n * 2, lynx.__name__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [1, 2]))\n"
    )
    out = python("-m", "bobcat.lynx", "script.py", cwd=tmp_path)
    assert out == "[(2, 'bobcat.lynx'), (4, 'bobcat.lynx')]\n"


def test_a_directory_with_a_main_module_runs(tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text(
        "import lynx, sys\nprint(__name__, lynx.__name__, sys.argv[1:])\n"
    )
    assert python("-m", "bobcat.lynx", "program", "a", cwd=tmp_path) == "__main__ bobcat.lynx ['a']\n"


POLICY = "rules: [{id: r, match: {tool: shell}, decision: deny}]\n"


@pytest.mark.parametrize("module", ["lynx.cli.main", "bobcat.lynx.cli.main"])
def test_the_command_line_of_lynx_runs_under_dash_m(module: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    out = python("-m", "bobcat.lynx", "-m", module, "policy", "bundle-id", "policy.yaml", cwd=tmp_path)
    assert out == "e830418e2d6f7717\n"
    assert "lynx, version 2.5.0" in python("-m", "bobcat.lynx", "-m", module, "--version", cwd=tmp_path)


def test_the_lynx_command_runs_programs_that_import_lynx(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(PROGRAM)
    command = "import sys; from bobcat.lynx.cli.main import main; sys.argv = ['lynx', 'run', 'script.py']; main()"
    assert python("-c", command, cwd=tmp_path).startswith("[ok] bobcat.lynx! None 2.5.0")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("lynx.nothing", "No module named lynx.nothing"),
        ("nothing.at.all", "Error while finding module specification for 'nothing.at.all'"),
        ("lynx.core", "No module named lynx.core.__main__; 'lynx.core' is a package"),
        (".main", "Error while finding module specification for '.main'"),
    ],
)
def test_a_module_that_is_not_there_is_no_traceback(module: str, words: str, tmp_path: Path) -> None:
    out = python("-m", "bobcat.lynx", "-m", module, cwd=tmp_path, status=1)
    assert out.startswith(f"python -m bobcat.lynx: {words}")
    assert "Traceback" not in out
