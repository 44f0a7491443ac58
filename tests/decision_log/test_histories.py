"""Random histories of appends, checkpoints, prunes and reopenings: the log stays intact and keeps the right records."""

from __future__ import annotations

import tempfile
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobcat.decision_log import Checkpoint, DecisionLog, LogEntry, open_log, verify

KEY = b"k" * 32
STATUSES = ("ok", "denied", "waiting", "failed", "uncertain")


class Step(NamedTuple):
    """One operation; `number` chooses a record, a status or a place to cut."""

    name: str
    number: int


steps = st.lists(
    st.builds(
        Step, st.sampled_from(("decision", "outcome", "outcome", "resume", "checkpoint", "prune", "reopen")),
        st.integers(0, 30),
    ),
    max_size=25,
)  # fmt: skip


class Model:
    """All entries that were ever appended, and the position up to which they were pruned."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.cut = 0
        self.kept: dict[int, LogEntry] = {}

    def records(self) -> dict[str, str]:
        """The status of each record that the log must show."""
        found: dict[str, str] = {}
        for entry in [*self.kept.values(), *self.entries[self.cut :]]:
            if entry.record_id:
                found[entry.record_id] = entry.body["status"] if entry.kind == "outcome" else "uncertain"
        return found

    def prune(self, place: int) -> None:
        """Remove the entries up to a place, except those of records that are open or have later entries."""
        statuses = self.records()
        later = {entry.record_id for entry in self.entries[place:]}
        before = {**self.kept, **{entry.seq: entry for entry in self.entries[self.cut : place]}}
        self.kept = {
            seq: entry
            for seq, entry in sorted(before.items())
            if entry.record_id and (entry.record_id in later or statuses[entry.record_id] in ("waiting", "uncertain"))
        }
        self.cut = place


def perform(step: Step, log: DecisionLog, model: Model) -> Checkpoint | None:
    record_id = f"r{step.number % 6}"
    if step.name == "checkpoint":
        checkpoint = log.checkpoint()
        model.entries += list(log.entries(after=len(model.entries)))
        return checkpoint
    if step.name == "prune":
        rest = model.entries[model.cut :]
        at = rest[step.number % len(rest)].at if rest else None
        place = next(
            (number for number, entry in enumerate(model.entries) if number >= model.cut and entry.at == at), 0
        )
        if at is not None:
            marker = log.prune(at)
            assert (marker is None) == (place == model.cut)
        if place > model.cut:
            model.prune(place)
            model.entries += list(log.entries(after=len(model.entries)))
        return None
    body = {"status": STATUSES[step.number % 5]} if step.name == "outcome" else {"n": step.number}
    model.entries.append(log.append(record_id, step.name, body))
    return None


@pytest.mark.parametrize("name", ["log.db", "log.jsonl"])
@settings(max_examples=40)
@given(steps)
def test_a_log_has_the_records_of_its_history(name: str, history: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target, model, checkpoints = f"{folder}/{name}", Model(), []
        log = open_log(target)
        log._signing_key = KEY  # without a checkpoint when it is closed
        try:
            for step in history:
                if step.name == "reopen":
                    log._unsigned = False
                    log.close()
                    log = open_log(target)
                    log._signing_key = KEY
                elif (checkpoint := perform(step, log, model)) is not None:
                    checkpoints.append(checkpoint)
            assert {record.record_id: record.status for record in log.records()} == model.records()
            assert {record.record_id: record.status for record in log.records(limit=100)} == model.records()
            assert list(log.entries()) == model.entries[model.cut :]
            size = len(model.entries)
            for entry in model.entries[model.cut :]:
                assert log.prove_inclusion(entry.seq).verify(log.prove_inclusion(entry.seq).root)
            for old in checkpoints:
                if model.cut <= old.size and old.size > 0:
                    proof = log.prove_consistency(old.size)
                    assert proof.verify(old.root, proof.root)
        finally:
            log._unsigned = False
            log.close()
        report = verify(target)
        assert (report.damage, report.last) == (None, size)
        assert all(verify(target, checkpoint=checkpoint).ok for checkpoint in checkpoints)
