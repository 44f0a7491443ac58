"""Caps on the attachments of one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bobcat.errors import AttachmentError
from bobcat.model.attachment import Attachment


@dataclass(frozen=True, slots=True)
class AttachmentLimits:
    """The most bytes of one attachment, the most of one message, and the most attachments of one message."""

    attachment_bytes: int = 10_000_000
    message_bytes: int = 25_000_000
    count: int = 20

    def check(self, attachments: Sequence[Attachment]) -> None:
        """Raise `AttachmentError` (`too_many`, `too_large`) for attachments beyond a cap."""
        if len(attachments) > self.count:
            raise AttachmentError("too_many", f"a message has at most {self.count} attachments, got {len(attachments)}")
        for each in attachments:
            if each.size > self.attachment_bytes:
                raise AttachmentError(
                    "too_large", f"attachment {each.name!r} has {each.size} bytes; the cap is {self.attachment_bytes}"
                )
        total = sum(each.size for each in attachments)
        if total > self.message_bytes:
            raise AttachmentError(
                "too_large", f"the attachments of the message have {total} bytes; the cap is {self.message_bytes}"
            )
