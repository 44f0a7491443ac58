"""The pytest fixture `bobcat_bench`: fails a test if a policy's decisions have become slower.

    def test_decisions_are_fast(bobcat_bench):
        bobcat_bench("policy.yaml", requests="requests.jsonl", baseline="bench.json", fail_over=1.10)

pytest loads this module whenever Bobcat is installed, and with it the collector of policy tests: they import no other
Bobcat module before they are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest

if TYPE_CHECKING:
    from bobcat.benchmark import BenchmarkReport, Calls
    from bobcat.bundle import Policy
    from bobcat.model.decision import ActionRequest

Requests: TypeAlias = "str | os.PathLike[str] | Iterable[ActionRequest | Mapping[str, Any]] | None"  # Any: JSON
OPTION = "--bobcat-bench-save"
pytest_plugins = ("bobcat.testing.pytest_plugin",)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    parser.getgroup("bobcat").addoption(
        OPTION, action="store_true", help="write the baselines of `bobcat_bench` instead of comparing with them"
    )


class BobcatBench:
    """Benchmark of a policy's decisions. Relative paths are below pytest's root directory."""

    def __init__(self, root: Path, *, save: bool) -> None:
        self._root = root
        self._save = save

    def __call__(
        self,
        policy: str | os.PathLike[str] | Policy,
        *,
        requests: Requests = None,
        baseline: str | os.PathLike[str] | None = None,
        fail_over: float | None = None,
        seconds: float = 1.0,
        profile: Literal["strict", "lynx"] = "strict",
        python_rules: Iterable[Callable[..., Any]] = (),  # Any: checked when the policy is compiled
        uncompiled: Literal["error", "callable"] = "error",
        host: str | None = None,
    ) -> BenchmarkReport:
        """Measure, and fail the test if decisions take more than `fail_over` times the baseline's reference steps.

        `policy` is a source, a bundle file or a bundle. `requests` are a JSON Lines file, requests, or mappings of
        their JSON; by default they are generated from the policy. With `--bobcat-bench-save`,
        `baseline` is written. `uncompiled` and its older name `host` are those of `compile_policy`.
        """
        from bobcat.benchmark import as_json, bench, read_baseline
        from bobcat.benchmark.baseline import BaselineError
        from bobcat.text.display import safe_text

        if fail_over is not None and (baseline is None or not fail_over > 0):
            raise ValueError("`fail_over` is a ratio above 0, and needs a `baseline`")
        if not seconds > 0:
            raise ValueError(f"`seconds` is the duration of the measurement and must be above 0, not {seconds!r}")
        bundle = self._bundle(policy, profile, python_rules, uncompiled=uncompiled, host=host)
        calls = self._calls(bundle, requests)
        if baseline is None:
            return bench(bundle, calls, seconds=seconds)
        path = self._root / baseline
        if self._save:
            report = bench(bundle, calls, seconds=seconds)
            path.write_text(as_json(report), encoding="utf-8")
            return report
        try:
            before = read_baseline(path.read_bytes(), str(baseline))
        except FileNotFoundError:
            pytest.fail(f"there is no baseline `{safe_text(path)}`; `pytest {OPTION}` writes it", pytrace=False)
        except BaselineError as error:
            pytest.fail(f"{safe_text(error)}; `pytest {OPTION}` rewrites it", pytrace=False)
        report = bench(bundle, calls, seconds=seconds, baseline=before, fail_over=fail_over)
        found = report.comparison
        if found is not None and found.regression:
            notes = "".join(f"\nnote: {safe_text(note)}" for note in found.notes)
            pytest.fail(
                f"decisions take {found.change:.2f} times as many reference steps as in the baseline "
                f"({report.decisions.relative:.3f}, was {found.relative:.3f}); allowed is {fail_over:.2f}{notes}",
                pytrace=False,
            )
        return report

    def _bundle(
        self,
        policy: str | os.PathLike[str] | Policy,
        profile: Literal["strict", "lynx"],
        python_rules: Iterable[Callable[..., Any]],  # Any: as above
        **uncompiled: Any,  # Any: keywords of `load_policy_file`
    ) -> Policy:
        from bobcat.bundle import Policy, is_bundle, load_bundle
        from bobcat.compiler import load_policy_file

        if isinstance(policy, Policy):
            return policy
        if not isinstance(policy, str | os.PathLike):
            raise TypeError(f"`policy` must be a file or a bundle, not {type(policy).__name__}")
        path = self._root / policy
        data = path.read_bytes()
        if is_bundle(data):
            return load_bundle(data, python_rules, profile=profile)
        return load_policy_file(path, profile=profile, python_rules=list(python_rules), **uncompiled)

    def _calls(self, bundle: Policy, requests: Requests) -> Calls:
        from bobcat.benchmark import Calls, directed_calls, read_calls
        from bobcat.model.decision import ActionRequest
        from bobcat.model.request_json import request_from_json

        if requests is None:
            return directed_calls(bundle)
        if isinstance(requests, str | os.PathLike):
            return read_calls((self._root / requests).read_bytes(), str(requests))
        if isinstance(requests, Mapping | bytes | bytearray):
            raise TypeError(f"`requests` must be a file or a list of requests, not {type(requests).__name__}")
        made: list[ActionRequest] = []
        for index, item in enumerate(requests):
            if not isinstance(item, Mapping | ActionRequest):
                raise TypeError(f"`requests[{index}]` must be a request or a mapping, not {type(item).__name__}")
            made.append(request_from_json(item) if isinstance(item, Mapping) else item)
        calls = Calls.of(made)
        if not calls.requests:
            raise ValueError("`requests` holds no request")
        return calls


@pytest.fixture
def bobcat_bench(pytestconfig: pytest.Config) -> BobcatBench:
    """Time the decisions of a policy and compare them with a baseline."""
    return BobcatBench(pytestconfig.rootpath, save=bool(pytestconfig.getoption(OPTION)))
