"""The shape of the repository: its top level, its layers, its locks, and what its targets say."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = set(
    ".ci .gitattributes .github .gitignore .pre-commit-hooks.yaml CHANGELOG.md CONTRIBUTING.md Cargo.lock Cargo.toml "
    "LICENSE Makefile README.md benches "
    "clippy.toml deny.toml docs examples mkdocs.yml pyproject.toml python rust rustfmt.toml tests uv.lock".split()
)


def _tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\0") if name]


def test_the_top_level_holds_what_the_architecture_allows() -> None:
    assert {name.split("/")[0] for name in _tracked()} <= TOP_LEVEL


def test_git_converts_no_line_ends() -> None:
    # Git for Windows does so by default: bash of Linux then refuses the scripts, and vectors have other digests.
    command = ["git", "check-attr", "-z", "--stdin", "text"]
    done = subprocess.run(command, cwd=ROOT, input="\0".join(_tracked()), capture_output=True, text=True, check=True)
    found = done.stdout.split("\0")
    assert {name for name, value in zip(found[::3], found[2::3], strict=False) if value != "unset"} == set()


def test_imports_go_downward_only() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_exported_requirements_are_those_of_the_lock() -> None:
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    # A package can be locked at two versions: extras that conflict with the tools have their own.
    locked = {(package["name"], package.get("version")) for package in packages}
    exported = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / ".ci/requirements-dev.txt").read_text(), flags=re.MULTILINE)
    assert exported
    assert set(exported) <= locked
    [ours] = [package for package in packages if package["name"] == "bobcat"]
    direct = ours["dependencies"] + ours["dev-dependencies"]["tools"]
    assert {package["name"] for package in direct} <= {name for name, _ in exported}
    site = re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / ".ci/requirements-docs.txt").read_text(), flags=re.MULTILINE)
    assert {package["name"] for package in ours["dev-dependencies"]["docs"]} <= {name for name, _ in site}
    assert set(site) <= locked


def test_no_tracked_file_names_a_path_of_somebodys_machine() -> None:
    path = re.compile(rb"/(?:home/[a-z]+/(?:src|code|projects)|root/\.|work/(?:main|shared))")
    assert [name for name in _tracked() if (ROOT / name).is_file() and path.search((ROOT / name).read_bytes())] == []


def test_tests_are_named_uniquely_and_need_no_packages() -> None:
    names = [Path(name).name for name in _tracked() if re.fullmatch(r"tests/.*test_\w+\.py", name)]
    assert sorted(names) == sorted(set(names))
    assert not [name for name in _tracked() if name.startswith("tests/") and name.endswith("__init__.py")]


def test_make_help_lists_every_public_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in (
        "setup",
        "build",
        "demo",
        "docs",
        "test",
        "check",
        "check-slow",
        "bench",
        "fmt",
        "lint",
        "types",
        "clean",
    ):
        assert re.search(rf"^{target}:.*##", makefile, flags=re.MULTILINE)
        assert re.search(rf"^  {target} ", shown, flags=re.MULTILINE)


def test_a_machine_without_rust_is_reported_before_anything_is_built(tmp_path: Path) -> None:
    for tool in ("sh", "cut", "cc"):
        found = subprocess.run(["sh", "-c", f"command -v {tool}"], capture_output=True, text=True).stdout.strip()
        if found:
            (tmp_path / tool).symlink_to(found)
    done = subprocess.run(
        [str(ROOT / ".ci/preflight"), sys.executable], capture_output=True, text=True, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert "missing: a Rust toolchain" in done.stderr
    assert "rustup.rs" in done.stderr


def test_a_machine_without_a_new_enough_python_is_reported(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *platform*) echo 3.9.1 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    done = subprocess.run([str(ROOT / ".ci/preflight"), str(old)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "missing: Python 3.11 or newer" in done.stderr
    assert "3.9.1" in done.stderr
