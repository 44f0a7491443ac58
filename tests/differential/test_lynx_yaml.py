"""Texts of the `lynx` profile are read as `yaml.safe_load` reads them, whichever parser did the reading."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import yaml

import campaign
from bobcat.frontend.lynx.source import UnreadableSource, read_text
from oracle.lynx_policies import as_text, policy

pytestmark = pytest.mark.campaign
TEXTS = max(300, campaign.SIZE)
CHUNKS = max(4, TEXTS // 500)
PIECES = [
    *"\n\t :-#{}[],&*!|>'\"%@`?\\~.<=é()^$/;\x85\u2028\ufeff\0",
    "- ", "? ", ": ", ",", "!!str ", "!x ", "&a ", "*a", "<<: ", "|\n", "> ", "''", '""', "---\n", "...\n",
    "%YAML 1.1\n", "# c", "! ", "0x1F", "0o7", "1e3", ".5", "+1", "=", "!!set {a}",
    "!!binary aGk=", "\\u0041", '"a\\/b"', '"\\ud800"',
    '"\\z"',
    "|-\n  a\n", "'a''b'", "2026-01-01", "2026-13-45", "12:30:45", "?a", "a?b", "(?i)x", "not:{", "a\tb",
]  # fmt: skip


def damaged(rng: Random) -> str | None:
    """A policy's text with a few pieces put in or taken out."""
    text = as_text(rng, policy(rng))
    if text is None:
        return None
    text = text[: rng.choice([200, 400, 800])]
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + (rng.choice(PIECES) + text[at:] if rng.random() < 0.8 else text[at + 2 :])
    return text


def read_by(reader: Any, text: str) -> str:
    try:
        return repr(reader(text))
    except (yaml.YAMLError, UnreadableSource) as error:
        return str(error).removeprefix("YAML parse error: ")
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_text_is_read_as_pyyaml_reads_it(chunk: int, record_property: Callable[[str, int], None]) -> None:
    read = texts = 0
    for seed in campaign.seeds(TEXTS, chunk, CHUNKS):
        text = damaged(Random(seed))
        if text is None:
            continue
        expected = read_by(lambda text: yaml.safe_load(text) or {}, text)
        assert read_by(lambda text: read_text(text)[0], text) == expected, text
        texts += 1
        read += expected.startswith("{")
    record_property("YAML texts read as PyYAML reads them", texts)
    assert read > texts // 4
