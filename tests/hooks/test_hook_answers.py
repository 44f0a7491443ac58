"""The native hook and the Python hook give the answers of the case table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.cases import ANSWERS, INPUTS, MALFORMED
from hooks.hosts import Ended, call, native, python

HOOKS = (native, python)
hooks = pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.__name__)


def one_answer(ended: Ended) -> Any:
    assert (ended.code, ended.err) == (0, b"")
    assert ended.out == b"" or ended.out.count(b"\n") == 1
    return ended.answer


@hooks
@pytest.mark.parametrize(
    ("host", "tool", "flags"), ANSWERS, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value
)
def test_a_host_gets_the_verdict_in_its_dialect(
    bundle: Path, hook: Any, host: str, tool: str, flags: tuple[str, ...]
) -> None:
    assert one_answer(hook(host, bundle, call(host, tool), *flags)) == ANSWERS[host, tool, flags]


@hooks
@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_read_as_its_host_writes_it(bundle: Path, hook: Any, name: str) -> None:
    host, text, answer = INPUTS[name]
    assert one_answer(hook(host, bundle, text)) == answer


@hooks
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_input_is_refused_with_one_line(bundle: Path, hook: Any, name: str) -> None:
    host, text = MALFORMED[name]
    ended = hook(host, bundle, text)
    assert (ended.code, ended.out, ended.err.count(b"\n")) == (2, b"", 1)
    assert len(ended.err) > 20
