"""One version, in Cargo.toml, and what a release may be called; the oldest Rust that the dependencies allow."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bobcat

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
CRATES = sorted(ROOT.glob("rust/*/Cargo.toml"))


def test_the_package_has_the_version_of_the_workspace() -> None:
    assert bobcat.__version__ == WORKSPACE["version"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]


@pytest.mark.parametrize("path", CRATES, ids=lambda path: path.parent.name)
def test_a_crate_has_the_version_of_the_workspace_or_none(path: Path) -> None:
    crate = tomllib.loads(path.read_text(encoding="utf-8"))
    if "workspace" in crate:  # its own: fuzzing, and a second opinion
        assert (crate["package"]["version"], crate["package"]["publish"]) == ("0.0.0", False)
        return
    for field in ("version", "edition", "rust-version", "license"):
        assert crate["package"][field] == {"workspace": True}


def test_the_files_that_name_the_oldest_rust_agree() -> None:
    oldest = WORKSPACE["rust-version"]
    for name in ("README.md", "docs/how-to/install.md", ".ci/preflight"):
        named = set(re.findall(r"1\.\d\d(?= or newer)", (ROOT / name).read_text(encoding="utf-8")))
        assert named <= {oldest}, name
    assert f'"$minor" -lt {oldest.split(".")[1]} ]' in (ROOT / ".ci/preflight").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_no_dependency_needs_a_newer_rust() -> None:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packages = json.loads(done.stdout)["packages"]
    known = {package["name"]: package["rust_version"] for package in packages if package["rust_version"]}
    assert len(known) > 20
    newer = {name: needs for name, needs in known.items() if _release(needs) > _release(WORKSPACE["rust-version"])}
    assert newer == {}


def test_only_the_core_may_be_published_as_a_crate() -> None:
    may = {path.parent.name: tomllib.loads(path.read_text())["package"].get("publish") for path in CRATES}
    assert [name for name, publish in may.items() if publish is None] == ["core"]
    core = tomllib.loads((ROOT / "rust/core/Cargo.toml").read_text(encoding="utf-8"))["package"]
    assert (ROOT / "rust/core" / core["readme"]).is_file()
    assert {"description", "keywords", "categories"} <= core.keys()


@pytest.mark.parametrize(
    ("arguments", "changes", "code", "out"),
    [
        ([], "## Unreleased\n", 0, "1.2.3\n"),
        (
            ["v1.2.3"],
            "## Unreleased\n\n## 1.2.3 - 2026-01-31\n\n* One.\n\n## 1.2.2 - 2026-01-01\n\n* Two.\n",
            0,
            "1.2.3\n",
        ),
        (["--notes", "v1.2.3"], "## 1.2.3 - 2026-01-31\n\n* One.\n\n## 1.2.2 - 2026-01-01\n\n* Two.\n", 0, "* One.\n"),
        (["--notes", "v1.2.3"], "## 1.2.3 - 2026-01-31\n\n* One.\n", 0, "* One.\n"),
        (["v1.2.3"], "## Unreleased\n", 1, ""),
        (["v1.2.3"], "## 1.2.3\n", 1, ""),
        (["v1.2.4"], "## 1.2.4 - 2026-01-31\n", 1, ""),
        (["1.2.3"], "## 1.2.3 - 2026-01-31\n", 1, ""),
    ],
)
def test_a_release_needs_its_tag_and_its_section(
    arguments: list[str], changes: str, code: int, out: str, tmp_path: Path
) -> None:
    (tmp_path / ".ci").mkdir()
    script = tmp_path / ".ci" / "version"
    shutil.copy(ROOT / ".ci/version", script)
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text(changes)
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, out), done.stderr


def test_the_change_log_names_releases_with_their_dates() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
