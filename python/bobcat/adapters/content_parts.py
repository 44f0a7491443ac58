"""Attachments as the content parts of provider APIs. Independent of the SDKs.

An attachment that a provider has no part for is refused: a model must not answer about a file that it never got.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

from bobcat.adapters.transcript import TextTurn, Turn, turns
from bobcat.errors import AttachmentError
from bobcat.model.attachment import Attachment
from bobcat.model.run import Message

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
IMAGE_TOKENS, PDF_TOKENS = 50_000, 500_000
"""Most tokens that a provider counts for one image, and for one PDF of 100 pages, however small their bytes are."""


def claude_blocks(attachments: Iterable[Attachment]) -> list[dict[str, Any]]:
    """The blocks of the Messages API."""
    return [_claude_block(each) for each in attachments]


def chat_parts(attachments: Iterable[Attachment]) -> list[dict[str, Any]]:
    """The parts of the Chat Completions API."""
    return [_chat_part(each) for each in attachments]


def chat_content(text: str, attachments: Sequence[Attachment]) -> str | list[dict[str, Any]]:
    """The content of a user's message: text as it is, or parts with the text last."""
    if not attachments:
        return text
    return [*chat_parts(attachments), *([{"type": "text", "text": text}] if text else [])]


def response_content(text: str, attachments: Sequence[Attachment]) -> str | list[dict[str, Any]]:
    """The content of a user's message in the Responses API: text as it is, or parts with the text last."""
    if not attachments:
        return text
    return [*map(_response_part, attachments), *([{"type": "input_text", "text": text}] if text else [])]


def attachment_tokens(conversation: Iterable[Message]) -> int:
    """Tokens of the attachments of a conversation that the bytes of a request do not bound."""
    return sum(
        IMAGE_TOKENS if each.is_image else PDF_TOKENS if each.media_type == PDF else 0
        for message in conversation
        for each in message.attachments
    )


def with_text_only(conversation: Iterable[Message], adapter: str) -> list[Turn]:
    """The turns. Raises `AttachmentError` (`unsupported`) for an adapter that cannot pass attachments on."""
    found = turns(conversation)
    if any(isinstance(turn, TextTurn) and turn.attachments for turn in found):
        raise AttachmentError("unsupported", f"{adapter} cannot pass attachments on; send the message without them")
    return found


def _claude_block(attachment: Attachment) -> dict[str, Any]:
    data, media_type = attachment.content(), attachment.media_type
    if media_type in IMAGES:
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": _base64(data)}}
    if media_type == PDF:
        source = {"type": "base64", "media_type": PDF, "data": _base64(data)}
    elif attachment.is_text:
        source = {"type": "text", "media_type": "text/plain", "data": _text(attachment)}
    else:
        raise _unsupported(attachment)
    return {"type": "document", "source": source, "title": attachment.name}


def _chat_part(attachment: Attachment) -> dict[str, Any]:
    data, media_type = attachment.content(), attachment.media_type
    if media_type in IMAGES:
        return {"type": "image_url", "image_url": {"url": _data_url(media_type, data)}}
    if media_type == PDF:
        return {"type": "file", "file": {"filename": attachment.name, "file_data": _data_url(PDF, data)}}
    if attachment.is_text:
        name = json.dumps(attachment.name, ensure_ascii=False)
        return {"type": "text", "text": f"File {name}:\n{_text(attachment)}"}
    raise _unsupported(attachment)


def _response_part(attachment: Attachment) -> dict[str, Any]:
    data, media_type = attachment.content(), attachment.media_type
    if media_type in IMAGES:
        return {"type": "input_image", "image_url": _data_url(media_type, data), "detail": "auto"}
    if media_type == PDF:
        return {"type": "input_file", "filename": attachment.name, "file_data": _data_url(PDF, data)}
    return {"type": "input_text", "text": _chat_part(attachment)["text"]}


def _text(attachment: Attachment) -> str:
    try:
        return attachment.content().decode()
    except UnicodeDecodeError as error:
        raise _unsupported(attachment) from error


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{_base64(data)}"


def _unsupported(attachment: Attachment) -> AttachmentError:
    return AttachmentError(
        "unsupported", f"the provider takes no {attachment.media_type}: attachment {attachment.name!r} cannot be sent"
    )
