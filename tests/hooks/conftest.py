"""The policy of the hooks' tests, and the native hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from hooks.hosts import NATIVE, POLICY


@pytest.fixture(scope="session", autouse=True)
def _native() -> None:
    if not NATIVE.exists():
        pytest.fail(f"{NATIVE} is missing; `make build` puts it there")


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policy") / "policy.bobcat"
    Policy.compile(POLICY).save(path)
    return path
