"""The core's SHA-256, which digests are made with, is that of the standard library."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat._core import sha256


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_parts_are_hashed_one_after_the_other(parts: list[bytes]) -> None:
    assert sha256(*parts) == hashlib.sha256(b"".join(parts)).digest()


@pytest.mark.parametrize("size", [55, 56, 63, 64, 65, 119, 120, 1_000_000])
def test_blocks_of_any_length(size: int) -> None:
    data = bytes(index % 251 for index in range(size))
    assert sha256(data) == hashlib.sha256(data).digest()


@pytest.mark.parametrize("part", ["text", bytearray(b"x"), memoryview(b"x"), None, 1])
def test_values_other_than_bytes_are_refused(part: object) -> None:
    with pytest.raises(TypeError):
        sha256(b"x", part)  # type: ignore[arg-type]


def test_a_worker_imports_no_other_implementation() -> None:
    code = "import sys, bobcat; bobcat.evaluate, bobcat.load_bundle; sys.exit('_hashlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
