"""Signed checkpoints, proofs and pruning, on every medium."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bobcat.bundle.sign import public_key
from bobcat.decision_log import Checkpoint, DecisionLog, DecisionLogError, LogEntry, open_log, verify

KEY, OTHER = b"k" * 32, b"o" * 32
PUBLIC = public_key(KEY)
FAR = datetime(2200, 1, 1, tzinfo=UTC)


def fill(log: DecisionLog, *names: str, status: str = "ok") -> LogEntry:
    for name in names:
        log.append(name, "decision", {"tool": "t", "args": {"name": name}})
        entry = log.append(name, "outcome", {"status": status})
    return entry


def test_checkpoints_cover_the_entries_before_them(target: str) -> None:
    with open_log(target, KEY) as log:
        fill(log, "a", "b")
        first = log.checkpoint()
        fill(log, "c")
        second = log.checkpoint()
        assert (first.size, second.size, first.public_key) == (4, 7, PUBLIC)
        kinds = [entry.kind for entry in log.entries()]
        assert kinds == ["decision", "outcome"] * 2 + ["checkpoint", "decision", "outcome", "checkpoint"]
        assert [record.record_id for record in log.records()] == ["a", "b", "c"]
    for options in ({}, {"public_key": PUBLIC}, {"public_key": PUBLIC, "checkpoint": first}, {"checkpoint": second}):
        report = verify(target, **options)  # type: ignore[arg-type]
        assert (report.ok, report.checkpoints, report.covered) == (True, 2, 7)
    assert Checkpoint.from_json(second.to_json()) == second


def test_a_signing_key_signs_every_so_often_and_at_the_end(target: str) -> None:
    with open_log(target, KEY.hex(), checkpoint_every=4) as log:
        fill(log, "a", "b", "c")
    assert (verify(target, PUBLIC).checkpoints, verify(target).last) == (2, 8)
    with open_log(target, KEY):
        pass
    assert verify(target).last == 8


def test_a_log_without_a_key_signs_nothing(target: str) -> None:
    with open_log(target) as log:
        fill(log, "a")
        with pytest.raises(DecisionLogError) as error:
            log.checkpoint()
        assert error.value.code == "no_key"
    report = verify(target, PUBLIC)
    assert report.damage is not None
    assert report.damage.problem == "there is no checkpoint, and the public key can verify nothing"
    for key in (b"short", "x" * 64):
        with pytest.raises(DecisionLogError) as error:
            open_log(target, key)
        assert error.value.code == "bad_key"


def test_another_key_is_not_accepted(target: str) -> None:
    with open_log(target, OTHER) as log:
        fill(log, "a")
        kept = log.checkpoint()
    report = verify(target, PUBLIC)
    assert report.damage is not None
    assert (report.damage.place, report.damage.problem) == (3, "the checkpoint has no signature by the given key")
    with pytest.raises(DecisionLogError) as error:
        verify(target, PUBLIC, checkpoint=kept)
    assert error.value.code == "bad_signature"
    with pytest.raises(DecisionLogError) as error:
        verify(target, checkpoint=replace(kept, size=2, root="0" * 64))
    assert error.value.code == "bad_signature"


def test_a_rewritten_log_contradicts_the_checkpoint_that_was_kept(target: str, tmp_path_factory: object) -> None:
    with open_log(target, KEY) as log:
        fill(log, "a", "b")
        kept = log.checkpoint()
    with open_log(f"{tmp_path_factory.mktemp('forged')}/log.db") as forged:  # type: ignore[attr-defined]
        fill(forged, "a", "x")
        fill(forged, "b")
        path = forged.medium._path  # type: ignore[attr-defined]
    assert verify(path).ok
    report = verify(path, checkpoint=kept)
    assert report.damage is not None
    assert report.damage.seq == kept.size
    assert "are not those of the given checkpoint" in report.damage.problem


def test_inclusion_proofs_verify_without_the_log(target: str) -> None:
    with open_log(target, KEY) as log:
        fill(log, *"abcdef")
        checkpoint = log.checkpoint()
        for seq in range(1, checkpoint.size + 1):
            proof = log.prove_inclusion(seq, checkpoint.size)
            assert proof.verify(checkpoint.root)
            assert not proof.verify("0" * 64)
            assert not replace(proof, entry=replace(proof.entry, body={"status": "denied"})).verify(checkpoint.root)
            assert not replace(proof, path=proof.path[1:]).verify(checkpoint.root)
        for seq, size in ((0, None), (99, None), (13, 12), (1, 99)):
            with pytest.raises(DecisionLogError) as error:
                log.prove_inclusion(seq, size)
            assert error.value.code == "no_proof"


def test_consistency_proofs_verify_without_the_log(target: str) -> None:
    with open_log(target, KEY) as log:
        fill(log, *"abc")
        old = log.checkpoint()
        fill(log, *"defg")
        new = log.checkpoint()
        proof = log.prove_consistency(old.size, new.size)
        assert proof.verify(old.root, new.root)
        assert not proof.verify(new.root, old.root)
        assert not replace(proof, path=proof.path[:-1]).verify(old.root, new.root)
        with pytest.raises(DecisionLogError) as error:
            log.prove_consistency(99)
        assert error.value.code == "no_proof"


def test_a_pruned_log_verifies_and_proves(target: str) -> None:
    with open_log(target, KEY) as log:
        fill(log, *"abc")
        old = log.checkpoint()
        cut = fill(log, "d").at
        fill(log, *"efg")
        new = log.checkpoint()
        marker = log.prune(cut)
        assert marker is not None
        removed = marker.body["count"]
        assert removed == marker.body["removed"] == 8
        assert [entry["record_id"] for entry in marker.body["carried"]] == ["d"]
        assert [record.record_id for record in log.records()] == list("defg")
        assert log.record("d") == log.records()[0]
        assert [record.tool for record in log.records()] == ["t"] * 4
        assert next(log.entries()).seq == removed + 1
        for seq in range(removed + 1, new.size + 1):
            assert log.prove_inclusion(seq, new.size).verify(new.root)
        assert log.prove_consistency(removed + 2, new.size).verify(
            log.prove_consistency(removed + 2).old_root, new.root
        )
        with pytest.raises(DecisionLogError):
            log.prove_inclusion(1, new.size)
        report = verify(target, PUBLIC, checkpoint=new)
        assert (report.ok, report.first, report.pruned, report.checkpoints) == (True, removed + 1, removed, 1)
        report = verify(target, PUBLIC, checkpoint=old)
        assert report.ok
        assert report.notes == (f"the given checkpoint is older than the prune of {removed} entries",)
        assert log.prune(datetime(2000, 1, 1)) is None
        fill(log, "h")
        third = log.checkpoint()
    assert verify(target, PUBLIC, checkpoint=third).ok


def test_pruning_everything_keeps_open_records_until_they_are_over(target: str) -> None:
    with open_log(target) as log:
        fill(log, "over")
        fill(log, "waits", status="waiting")
        log.append("crashed", "decision", {"tool": "t"})
        for _ in range(3):
            log.prune(FAR)
            assert [(record.record_id, record.status) for record in log.records()] == [
                ("waits", "waiting"),
                ("crashed", "uncertain"),
            ]
            assert verify(target).ok
        log.append("waits", "outcome", {"status": "ok"})
        log.prune(FAR)
        assert [record.record_id for record in log.records()] == ["crashed"]
        assert verify(target).ok
        assert log.append("new", "decision", {}).seq == 11


def test_a_damaged_log_is_neither_signed_nor_pruned_nor_proven(file_target: str) -> None:
    from decision_log.test_damage import copy_of

    name = "log.jsonl" if file_target.endswith("jsonl") else "log.db"
    with copy_of(name) as path:
        if name == "log.db":
            import sqlite3

            connection = sqlite3.connect(path)
            with connection:
                connection.execute("UPDATE bobcat_log_entries SET body = '{}' WHERE seq = 3")
            connection.close()
        else:
            text = path.read_text()
            path.write_text(text.replace('"tool":"t"', '"tool":"u"', 1))
        before = verify(path)
        with open_log(path, KEY) as log:
            for work in (log.checkpoint, lambda: log.prune(FAR), lambda: log.prove_inclusion(5)):
                with pytest.raises(DecisionLogError) as error:
                    work()  # type: ignore[operator]
                assert error.value.code == "damaged"
        assert verify(path) == before


def test_times_without_a_zone_are_utc(target: str) -> None:
    with open_log(target) as log:
        fill(log, "a")
        later = (datetime.now(UTC) + timedelta(minutes=1)).replace(tzinfo=None)
        assert log.prune(later) is not None
        assert log.records() == []
