"""Memory of a turn: values that results of earlier turns of its thread gave are sources for its calls."""

from __future__ import annotations

from msgspec import UnsetType

from bobcat.bundle import Policy
from bobcat.errors import ThreadError
from bobcat.ir.schema import Source
from bobcat.runtime.memory import RunMemory, reads_task
from bobcat.runtime.recorded_step import remember_turn
from bobcat.text.json_text import format_exception
from bobcat.threads.journal import ThreadJournal, turn_id
from bobcat.threads.metadata import KIND


async def memory_of_turn(journal: ThreadJournal, policy: Policy, number: int, task: str) -> RunMemory | None:
    """The memory that a turn begins with; None for a policy without sources.

    It is a function of the journals of the earlier turns, which have ended. Each is read once by this process. Raises
    the exceptions of the store, and `ThreadError` (`turn_failed`) for a damaged journal.
    """
    memory = policy.ir.memory
    if isinstance(memory, UnsetType) or not any(isinstance(each, Source) for each in memory.values()):
        return None
    entry = await journal.store.get(KIND, journal.thread)
    key = f"{policy.id} {None if entry is None else entry.body.get('created')}"
    turns, data = journal.remembered.get(key, (0, b""))
    if turns >= number:  # an earlier turn is continued
        turns = 0
    try:
        known = RunMemory.load(policy, data) if turns else RunMemory(policy, None)
        for turn in range(turns + 1, number):
            remember_turn(known, await journal.store.load(turn_id(journal.thread, turn)))
    except (ValueError, TypeError, LookupError) as error:
        text = f"the memory of the turns before turn {number} cannot be read: {format_exception(error)}"
        raise ThreadError("turn_failed", text) from error
    journal.remembered = {key: (number - 1, known.state.dump())}
    known.next_turn(task if reads_task(policy) else None)
    return known
