"""Journal integrity: detection of changed, reordered, missing and inserted records.

Every record carries the hash of itself and all records before it. The chain detects damage, and edits by a writer who
does not know how to compute it; it is not a signature. A tail that was removed cleanly is detected where the store
keeps a status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bobcat._core import chained_hash
from bobcat.journal.index import JournalIndex
from bobcat.journal.keys import action_key_of, chain_hash, idempotency_key
from bobcat.journal.records import StepRecord
from bobcat.model.run import FinalAnswer
from bobcat.runtime.reply import Proposal
from bobcat.text.json_text import json_text, loose_json_text

CHAIN = "chain"
"""The key of a record's hash in its body."""

# Any: JSON.
Replies = Mapping[int, tuple[Proposal, ...] | FinalAnswer]


class DamagedJournal(ValueError):
    """Invalid journal: the run must not resume from these records."""


def link(previous: str, body: Mapping[str, Any], *, run_id: str, seq: int, kind: str, key: str) -> str:
    """Compute the hash of a record that follows the one with the hash `previous`."""
    native = chained_hash(previous, run_id, seq, kind, key, body)
    if native is not None:
        return native
    # A store returns the body after a JSON round trip, in which keys that are not strings sort differently.
    plain = json.loads(json_text(body))
    return chain_hash(previous, plain, run_id=run_id, seq=seq, kind=kind, key=key)


def check_chain(records: Sequence[StepRecord], run_id: str) -> str:
    """Verify the chain and return the hash of the last record, "" without records. Raises `DamagedJournal`.

    Records without a hash come from an older journal: they may precede the first hash, never follow it.
    """
    head, chained = "", False
    for position, record in enumerate(sorted(records, key=lambda record: record.seq)):
        if record.run_id != run_id:
            raise DamagedJournal(f"record {record.seq} belongs to another run, {record.run_id!r}")
        if record.seq != position:
            problem = "is duplicated" if record.seq < position else f"follows record {position - 1}"
            raise DamagedJournal(f"record {record.seq} {problem}")
        body = {name: value for name, value in record.body.items() if name != CHAIN}
        head = link(head, body, run_id=run_id, seq=position, kind=record.kind, key=record.idempotency_key)
        recorded = record.body.get(CHAIN)
        if recorded is None:
            if chained:
                raise DamagedJournal(f"record {position} has no hash, and those before it do")
        elif recorded != head:
            raise DamagedJournal(f"record {position} was changed, or does not follow the records before it")
        elif not chained and position and record.kind != "run.resumed":
            raise DamagedJournal(f"record {position} has a hash, and those before it do not")
        else:
            chained = True
    return head


def check_consistency(journal: JournalIndex, replies: Replies, run_id: str) -> None:
    """Check that results belong to their calls, and that the final answer is the agent's. Raises `DamagedJournal`."""
    calls = _calls(replies)
    for step, result in journal.results.items():
        call = calls.get(step)
        if call is None or result.get("tool") != call.tool:
            raise DamagedJournal(f"the result of step {step} belongs to a call that the agent did not make")
        key = journal.result_keys.get(step, "")
        if key not in _keys(run_id, step, call):
            raise DamagedJournal(f"the result of step {step} has the key of another action")
    if journal.final is not None:
        recorded = replies.get(journal.final.get("step", 0))
        if not isinstance(recorded, FinalAnswer) or recorded.text != journal.final.get("final_answer"):
            raise DamagedJournal("the final answer is not one that the agent gave")


def _calls(replies: Replies) -> dict[int, Proposal]:
    found: dict[int, Proposal] = {}
    for first, reply in replies.items():
        if not isinstance(reply, FinalAnswer):
            found.update(enumerate(reply, first))
    return found


def _keys(run_id: str, step: int, call: Proposal) -> tuple[str, ...]:
    """The valid keys of the action: in this package's encoding, and in lynx-agent's."""
    return (
        action_key_of(run_id, step, call.tool, call.args),
        idempotency_key(run_id, step, call.tool, call.args),
        idempotency_key(run_id, step, call.tool, call.args, text=loose_json_text),
    )
