"""Imported policies beside the Agent OS kernel itself: `py-agent-kernel` decides the same requests.

The package is fetched from the registry, without its dependencies, so this runs in campaigns only. Its modules of
policies and requests are imported without the rest of it, which needs a client of models.
"""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import campaign
from unit.agent_os_requests import bobcat_permits, difference, imported, kernel_permits, made_call, made_policy

pytestmark = [pytest.mark.slow, pytest.mark.campaign]
RELEASE = "py-agent-kernel==0.4.3"
PACKAGE = "agent_os_kernel"
POLICIES = campaign.rounds(100)
CALLS = 100
"""Calls of each policy: 10,000 in all."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ModuleType, ModuleType]]:
    place = tmp_path_factory.mktemp("agent-os")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--target", place, RELEASE], check=True)
    bare = ModuleType(PACKAGE)
    bare.__path__ = [str(place / PACKAGE)]
    sys.modules[PACKAGE] = bare
    try:
        yield importlib.import_module(f"{PACKAGE}.policy"), importlib.import_module(f"{PACKAGE}.models")
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]


def test_the_kernel_and_imported_policies_decide_alike(kernel: tuple[ModuleType, ModuleType], tmp_path: Path) -> None:
    policies, models = kernel
    counts: Counter[str] = Counter()
    for seed in campaign.seeds(POLICIES, 0, 1):
        rng = random.Random(seed)
        capabilities = made_policy(rng)
        file = tmp_path / "policy.yaml"
        file.write_text(yaml.safe_dump({"capabilities": capabilities}), encoding="utf-8")
        theirs, ours = policies.load_policy(file), imported(capabilities)
        for _ in range(CALLS):
            call = made_call(rng, capabilities)
            request = models.ActionRequest(call.action, call.target, dict(call.params))
            permits = theirs.is_allowed(request)
            assert permits is kernel_permits(capabilities, call)
            own = bobcat_permits(ours, call)
            assert permits or not own, f"looser: {call} {capabilities}"
            kind = difference(capabilities, call) if permits != own else f"both {'permit' if own else 'deny'}"
            assert kind is not None, f"not listed: {call} {capabilities}"
            counts[kind] += 1
    assert sum(counts.values()) >= 10_000
    print(dict(counts))
