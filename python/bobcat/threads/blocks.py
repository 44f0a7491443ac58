"""Blocks of a turn: messages that are shown together or not at all.

A call and its answer are in one block, and the calls of one reply are where the reply has data of its provider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bobcat.model.run import Message
from bobcat.threads.history import Shown, Turn

Measure = Callable[[Message], int]


@dataclass(frozen=True, slots=True)
class Block:
    """Messages `first` to `last` of a turn."""

    first: int
    last: int


def blocks_of(messages: Sequence[Message]) -> list[Block]:
    """The blocks of a turn, in order. Those with a call that has no answer, or the reverse, are left out."""
    marked = any(_is_call(each) and each.provider_data is not None for each in messages)
    starts = [position for position, each in enumerate(messages) if position == 0 or _begins(each, marked)]
    ends = [*starts[1:], len(messages)]
    blocks = [Block(start, end - 1) for start, end in zip(starts, ends, strict=True)]
    return [each for each in blocks if _is_whole(messages[each.first : each.last + 1])]


def shown_blocks(turn: int, blocks: Sequence[Block]) -> list[Shown]:
    """References to blocks of a turn; neighbours are one."""
    shown: list[Shown] = []
    for each in blocks:
        if shown and shown[-1].last + 1 == each.first:
            shown[-1] = Shown(turn, shown[-1].first, each.last)
        else:
            shown.append(Shown(turn, each.first, each.last))
    return shown


def whole_turn(turn: Turn) -> list[Shown]:
    """References to all of a turn."""
    return shown_blocks(turn.number, blocks_of(turn.messages))


def newest_blocks(turn: Turn, fits: Callable[[Sequence[Message]], bool]) -> list[Shown]:
    """References to the user's message of a turn and to as many of its last blocks as fit; none without an answer."""
    blocks = blocks_of(turn.messages)
    if not blocks:
        return []
    kept: list[Block] = []
    for each in reversed(blocks[1:]):
        chosen = [blocks[0], each, *kept]
        if not fits([message for block in chosen for message in turn.messages[block.first : block.last + 1]]):
            break
        kept.insert(0, each)
    return shown_blocks(turn.number, [blocks[0], *kept]) if kept else []


def _begins(message: Message, marked: bool) -> bool:
    if message.role == "tool":
        return False
    return not (marked and _is_call(message) and message.provider_data is None)


def _is_call(message: Message) -> bool:
    return message.role == "assistant" and message.tool_call_args is not None


def _is_whole(messages: Sequence[Message]) -> bool:
    calls = sorted(each.tool_call_id or "" for each in messages if _is_call(each))
    answers = sorted(each.tool_call_id or "" for each in messages if each.role == "tool")
    return calls == answers
