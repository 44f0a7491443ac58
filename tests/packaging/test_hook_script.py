"""The native hook in wheels, environments and source distributions."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = "#!/bin/sh\necho 'the hook'\n"


@pytest.fixture
def hook_script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "rust/profile")
    spec = importlib.util.spec_from_file_location("hook_script", ROOT / "rust/profile/hook_script.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bobcat-hook"
    path.write_text(SCRIPT)
    return path


def _wheel(path: Path) -> Path:
    info = "thing-1.dist-info"
    parts = {
        "thing.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as made:
        for name, text in parts.items():
            made.writestr(name, text)
        made.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*parts, f"{info}/RECORD"]))
    return path


def test_pip_installs_the_hook_of_a_wheel_as_a_program(hook_script: ModuleType, program: Path, tmp_path: Path) -> None:
    wheel = _wheel(tmp_path / "thing-1-py3-none-any.whl")
    hook_script.add_to_wheel(wheel, program)
    hook_script.add_to_wheel(wheel, program)  # again: it is there once
    with zipfile.ZipFile(wheel) as made:
        assert made.namelist().count("thing-1.data/scripts/bobcat-hook") == 1
    environment = tmp_path / "environment"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "--ignore-installed", "--prefix", str(environment), str(wheel)], check=True)
    assert subprocess.check_output([environment / "bin/bobcat-hook"], text=True) == "the hook\n"


def test_the_hook_is_put_into_an_environment(hook_script: ModuleType, program: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    hook_script.install(program, tmp_path / "bin")
    hook_script.install(program, tmp_path / "bin")
    assert os.listdir(tmp_path / "bin") == ["bobcat-hook"]
    assert subprocess.check_output([tmp_path / "bin/bobcat-hook"], text=True) == "the hook\n"


def test_a_source_distribution_has_the_crate_of_the_hook(hook_script: ModuleType, tmp_path: Path) -> None:
    archive = tmp_path / "thing-1.tar.gz"
    (tmp_path / "reduced").write_text("[workspace]\n")
    with tarfile.open(archive, "w:gz") as made:
        made.add(tmp_path / "reduced", "thing-1/Cargo.toml")
        made.add(tmp_path / "reduced", "thing-1/other")
    hook_script.add_to_sdist(archive)
    with tarfile.open(archive) as found:
        names = found.getnames()
        manifest = found.extractfile("thing-1/Cargo.toml")
        assert manifest is not None
        assert manifest.read() == (ROOT / "Cargo.toml").read_bytes()
    assert {"thing-1/other", "thing-1/Cargo.lock", "thing-1/rust/hook/src/main.rs"} <= set(names)
    assert len(names) == len(set(names))


def test_every_way_to_build_adds_the_hook() -> None:
    backend = (ROOT / "rust/profile/build_backend.py").read_text()
    assert backend.count("add_to_wheel(Path(directory, made), build())") == 2
    makefile = (ROOT / "Makefile").read_text()
    assert "rust/profile/hook_script.py $(BIN)" in makefile
    assert ".ci/wheel " in makefile
    assert 'rust/profile/hook_script.py "$out"/*.whl' in (ROOT / ".ci/wheel").read_text()


def test_the_hook_is_installed() -> None:
    hook = Path(sys.executable).parent / "bobcat-hook"
    if not hook.exists():
        pytest.skip("this environment was not built by `make build` or pip")
    assert os.access(hook, os.X_OK)
