"""Fuzzing starts from something: every target has seeds, and those of policies are policies."""

from __future__ import annotations

from pathlib import Path

from bobcat._core import Program
from oracle.make_fuzz_seeds import ROOT, write


def test_every_fuzz_target_has_seeds_and_words(tmp_path: Path) -> None:
    write(tmp_path)
    targets = {path.stem for path in (ROOT / "rust/fuzz/fuzz_targets").glob("*.rs")}
    assert {path.name for path in tmp_path.iterdir()} == {*targets, "words.dict"}
    assert all(any((tmp_path / target).iterdir()) for target in targets)
    assert '"rules"' in (tmp_path / "words.dict").read_text("utf-8").replace("\\", "")
    for seed in (tmp_path / "decode_ir").iterdir():
        assert Program(seed.read_bytes()).rule_count >= 0
