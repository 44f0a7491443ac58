"""Attachments of a thread's messages: journals have their references, the store has their bytes, once by digest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bobcat.attachments import AttachmentLimits, AttachmentStore
from bobcat.errors import ThreadError
from bobcat.model.agent import Agent
from bobcat.model.attachment import Attachment
from bobcat.model.run import Message
from bobcat.runtime.resume_check import agent_identity
from bobcat.stores.protocol import DurableStore

FIELD = "attachments"


def checked_files(attachments: object, limits: AttachmentLimits) -> tuple[Attachment, ...]:
    """The attachments of a message to send. Raises `ThreadError` (`bad_attachments`) and `AttachmentError`."""
    if not isinstance(attachments, Iterable):
        raise ThreadError("bad_attachments", f"attachments must be a sequence, got {type(attachments).__name__}")
    found = tuple(attachments)
    for each in found:
        if not isinstance(each, Attachment):
            raise ThreadError("bad_attachments", f"attachments must be of Attachment, got {type(each).__name__}")
    limits.check(found)
    for each in found:
        each.content()
    return found


def files_to_body(attachments: Sequence[Attachment]) -> dict[str, Any]:  # Any: JSON
    """References as the field of a record; nothing without attachments."""
    return {FIELD: [each.reference() for each in attachments]} if attachments else {}


def files_of(body: Mapping[str, Any]) -> tuple[Attachment, ...]:
    """The attachments of a record, without their data."""
    return tuple(Attachment.from_reference(each) for each in body.get(FIELD, ()))


async def with_data(store: DurableStore, messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with the data of their attachments; equal ones are read once. Raises `AttachmentError`."""
    files, read, found = AttachmentStore(store), dict[Attachment, Attachment](), list[Message]()
    for message in messages:
        for each in message.attachments:
            if each not in read:
                (read[each],) = await files.load([each])
        shown = tuple(read[each] for each in message.attachments)
        found.append(replace(message, attachments=shown) if shown else message)
    return tuple(found)


class FailingAgent:
    """An agent in place of one that must not be asked: its step raises the reason, so the turn fails."""

    def __init__(self, agent: Agent, reason: Exception) -> None:
        self.identity = agent_identity(agent)
        self._reason = reason

    async def step(self, conversation: Sequence[Message]) -> Any:  # Any: it never returns
        """Raise the reason."""
        raise self._reason
