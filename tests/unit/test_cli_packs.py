"""`bobcat packs`: list and show."""

from __future__ import annotations

import pytest

from unit.cli_runner import Run, runner

run = pytest.fixture(runner)


def test_the_list_has_every_pack(run: Run) -> None:
    done = run("packs", "list")
    assert done.code == 0
    names = [line.split()[0] for line in done.out.splitlines()]
    assert names == ["coreutils", "text", "git", "docker", "kubectl", "packages", "http"]


def test_the_list_as_json_names_programs(run: Run) -> None:
    found = {pack["name"]: pack["programs"] for pack in run("packs", "list", "--format", "json").json()}
    assert "curl" in found["http"]
    assert {"npm", "pip", "cargo"} <= set(found["packages"])


@pytest.mark.parametrize("name", ["git", "curl", "rm"])
def test_a_pack_or_a_program_is_shown(run: Run, name: str) -> None:
    done = run("packs", "show", name)
    assert done.code == 0
    assert name in done.out
    rows = run("packs", "show", name, "--format", "json").json()
    assert all(row["settings"] or row["names"][0].startswith("@") for row in rows)


def test_an_unknown_name_is_an_error_with_the_packs(run: Run) -> None:
    done = run("packs", "show", "gti")
    assert done.code == 3
    assert "gti" in done.err
    assert "coreutils" in done.err
    assert "Traceback" not in done.err
