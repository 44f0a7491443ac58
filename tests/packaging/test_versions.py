"""One version, in Cargo.toml, and what a release may be called; the oldest Rust that the dependencies allow."""

from __future__ import annotations

import json
import re
import runpy
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
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")

SCRIPT = runpy.run_path(str(ROOT / ".ci/version"))


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


DATED = "## 1.2.3 - 2026-01-31\n\n* One.\n\n## 1.2.2 - 2026-01-01\n\n* Two.\n"
OPEN = "# Changes\n\n## 1.2.3 - unreleased\n\n* One.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/version", tmp_path / ".ci")
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\n\n[x]\ny = { version = "1.2.3" }\n')
    (tmp_path / "Cargo.lock").write_text(
        'name = "bobcat-core"\nversion = "1.2.3"\n\nname = "memchr"\nversion = "1.2.3"\n'
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("`bobcat-1.2.3-cp311.whl`, bobcat/actions@v1.2.3, memchr 1.2.3\n")
    return tmp_path


def _version(place: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(place / ".ci/version"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("arguments", "changes", "code", "out"),
    [
        ([], OPEN, 0, "1.2.3\n"),
        (["v1.2.3"], DATED, 0, "1.2.3\n"),
        (["--notes", "v1.2.3"], DATED, 0, "* One.\n"),
        (["--notes", "v1.2.3"], "## 1.2.3 - 2026-01-31\n\n* One.\n", 0, "* One.\n"),
        (["v1.2.3"], OPEN, 1, ""),
        (["v1.2.3"], "## 1.2.3\n", 1, ""),
        (["v1.2.4"], "## 1.2.4 - 2026-01-31\n", 1, ""),
        (["1.2.3"], DATED, 1, ""),
        (["--date", "31.1.2026"], OPEN, 1, ""),
        (["--date"], DATED, 1, ""),
        (["--begin", "1.2.4"], OPEN, 1, ""),
        (["--begin", "1.2.3"], DATED, 1, ""),
        (["--begin", "1.3"], DATED, 1, ""),
        (["--notes"], DATED, 1, ""),
    ],
)
def test_a_release_needs_its_tag_and_its_section(
    arguments: list[str], changes: str, code: int, out: str, checkout: Path
) -> None:
    (checkout / "CHANGELOG.md").write_text(changes)
    assert _version(checkout, *arguments) == (code, out)
    assert (checkout / "CHANGELOG.md").read_text() == changes


def test_a_release_is_dated_and_the_next_version_begun(checkout: Path) -> None:
    changes = checkout / "CHANGELOG.md"
    changes.write_text(OPEN)
    assert _version(checkout, "--date", "2026-01-31") == (0, "v1.2.3\n")
    assert changes.read_text() == "# Changes\n\n## 1.2.3 - 2026-01-31\n\n* One.\n"
    assert _version(checkout, "--notes", "v1.2.3") == (0, "* One.\n")

    assert _version(checkout, "--begin", "1.3.0") == (0, "1.3.0\n")
    assert changes.read_text().startswith("# Changes\n\n## 1.3.0 - unreleased\n\n## 1.2.3 - 2026-01-31\n")
    assert (checkout / "Cargo.toml").read_text().count("1.3.0") == 1
    assert (checkout / "Cargo.lock").read_text().startswith('name = "bobcat-core"\nversion = "1.3.0"\n')
    assert 'name = "memchr"\nversion = "1.2.3"' in (checkout / "Cargo.lock").read_text()
    page = "`bobcat-1.3.0-cp311.whl`, bobcat/actions@v1.3.0, memchr 1.2.3\n"
    assert (checkout / "docs" / "page.md").read_text() == page
    assert _version(checkout) == (0, "1.3.0\n")


def test_the_locks_and_the_pages_show_the_version_of_the_workspace() -> None:
    locked = {
        (name, package["name"]): package["version"]
        for name in SCRIPT["LOCKS"]
        for package in tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["package"]
        if package["name"] in {"bobcat-core", "bobcat-hook", "bobcat-py", "bobcat-session"}
    }
    assert len(locked) == 5
    assert set(locked.values()) == {WORKSPACE["version"]}
    pages = {page: SCRIPT["SHOWN"].findall(page.read_text(encoding="utf-8")) for page in SCRIPT["shown_in"]()}
    assert ROOT / "docs/how-to/install.md" in pages
    for page, found in pages.items():
        assert {number for _, number in found} == {WORKSPACE["version"]}, page


def test_the_change_log_names_releases_with_their_dates() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    number, _, day = headings[0].partition(" - ")
    assert number == WORKSPACE["version"]
    assert day == "unreleased" or re.fullmatch(r"\d{4}-\d{2}-\d{2}", day)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])
    kinds = re.findall(r"^### (.*)$", text.split("\n## ")[1], re.MULTILINE)
    assert kinds == [kind for kind in KINDS if kind in kinds]


def _release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))
