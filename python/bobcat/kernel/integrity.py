"""Whether a journal is what was written: nothing changed, reordered, left out or put in.

Every record carries the hash of itself and all before it. That finds damage, and edits by whoever does not know how
the hash is made; it is no signature. A tail that was cut off cleanly is found where the store keeps a status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bobcat._core import chained_hash
from bobcat.journal import JournalIndex, StepRecord, action_key_of, chain_hash, idempotency_key
from bobcat.kernel.reply import Proposal
from bobcat.model import FinalAnswer
from bobcat.plain_json import json_text, loose_json_text

CHAIN = "chain"
"""The key of a record's hash in its body."""

# Any: JSON.
Replies = Mapping[int, tuple[Proposal, ...] | FinalAnswer]


class DamagedJournal(ValueError):
    """The records are not a journal that this run may go on with."""


def link(previous: str, body: Mapping[str, Any], *, run_id: str, seq: int, kind: str, key: str) -> str:
    """The hash of a record after the one with the hash `previous`."""
    made = chained_hash(previous, run_id, seq, kind, key, body)
    if made is not None:
        return made
    # What a store gives back is what JSON made of it: keys that are no strings sort differently then.
    plain = json.loads(json_text(body))
    return chain_hash(previous, plain, run_id=run_id, seq=seq, kind=kind, key=key)


def check_chain(records: Sequence[StepRecord], run_id: str) -> str:
    """The hash of the last record, "" for no record. Raises `DamagedJournal`.

    Records without a hash are those of an older journal: there may be some before the first hash, and none behind it.
    """
    head, chained = "", False
    for position, record in enumerate(sorted(records, key=lambda record: record.seq)):
        if record.run_id != run_id:
            raise DamagedJournal(f"record {record.seq} is of another run, {record.run_id!r}")
        if record.seq != position:
            what = "is there twice" if record.seq < position else f"follows record {position - 1}"
            raise DamagedJournal(f"record {record.seq} {what}")
        body = {name: value for name, value in record.body.items() if name != CHAIN}
        head = link(head, body, run_id=run_id, seq=position, kind=record.kind, key=record.idempotency_key)
        said = record.body.get(CHAIN)
        if said is None:
            if chained:
                raise DamagedJournal(f"record {position} has no hash, and those before it do")
        elif said != head:
            raise DamagedJournal(f"record {position} is not what was written, or does not follow those before it")
        elif not chained and position and record.kind != "run.resumed":
            raise DamagedJournal(f"record {position} has a hash, and those before it do not")
        else:
            chained = True
    return head


def check_sense(journal: JournalIndex, replies: Replies, run_id: str) -> None:
    """Results must be of the calls they stand for, and a final answer what the agent said. Raises `DamagedJournal`."""
    calls = _calls(replies)
    for step, result in journal.results.items():
        call = calls.get(step)
        if call is None or result.get("tool") != call.tool:
            raise DamagedJournal(f"the result of step {step} is of a call that the agent did not make")
        key = journal.result_keys.get(step, "")
        if key not in _keys(run_id, step, call):
            raise DamagedJournal(f"the result of step {step} has the key of another action")
    if journal.final is not None:
        said = replies.get(journal.final.get("step", 0))
        if not isinstance(said, FinalAnswer) or said.text != journal.final.get("final_answer"):
            raise DamagedJournal("the final answer is not one that the agent gave")


def _calls(replies: Replies) -> dict[int, Proposal]:
    found: dict[int, Proposal] = {}
    for first, reply in replies.items():
        if not isinstance(reply, FinalAnswer):
            found.update(enumerate(reply, first))
    return found


def _keys(run_id: str, step: int, call: Proposal) -> tuple[str, ...]:
    """The keys that the action may have: as we make them, and as lynx-agent does."""
    return (
        action_key_of(run_id, step, call.tool, call.args),
        idempotency_key(run_id, step, call.tool, call.args),
        idempotency_key(run_id, step, call.tool, call.args, text=loose_json_text),
    )
