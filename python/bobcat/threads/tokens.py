"""Estimates of tokens, for windows that are bounded by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias, runtime_checkable

from bobcat.model.attachment import Attachment
from bobcat.model.run import Message
from bobcat.text.json_text import loose_json_text

BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 8
"""Tokens that vendors add for the role of a message and the frame of a call."""

IMAGE_TOKENS = 1600
"""Tokens of an image: vendors make larger ones smaller."""
FILE_BYTES_PER_TOKEN = 10
"""Bytes of a PDF for each token: most of them are fonts, images and compressed text."""


@runtime_checkable
class CountsTokens(Protocol):
    """An agent that counts tokens itself, such as `ClaudeAgent` and `OpenAIAgent`."""

    def count_tokens(self, conversation: Sequence[Message]) -> int:
        """Return the tokens of a conversation."""


Count: TypeAlias = Callable[[Message], int] | CountsTokens


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message as a third of its bytes in UTF-8, and eight.

    A tokenizer that falls back to bytes, as those of the vendors do, makes at most one token of each byte: the true
    number for the text is at most three times the estimate. English text has about a quarter of a token for each byte.
    Attached text counts alike, an image as 1,600 tokens, and another file, roughly, as a tenth of its bytes or 1,600.
    """
    texts = [message.content, message.name or "", message.tool_call_id or ""]
    if message.tool_call_args is not None:
        texts.append(loose_json_text(message.tool_call_args))
    if message.provider_data is not None:
        texts.append(loose_json_text(message.provider_data))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return -(-size // BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE + sum(map(_of_attachment, message.attachments))


def _of_attachment(attachment: Attachment) -> int:
    if attachment.is_text:
        return -(-attachment.size // BYTES_PER_TOKEN)
    return IMAGE_TOKENS if attachment.is_image else max(IMAGE_TOKENS, attachment.size // FILE_BYTES_PER_TOKEN)


def counter(count: Count | None) -> Callable[[Message], int]:
    """The function that counts the tokens of one message: `count`, that of an agent, or the estimate.

    An agent counts what it sends with every request, such as its tools, for each message: its sum is an upper bound.
    Attachments are estimated: a window has their references only.
    Raises `TypeError` for something else.
    """
    if count is None:
        return estimate_tokens
    if isinstance(count, CountsTokens):
        agent = count
        return lambda message: (
            agent.count_tokens((replace(message, attachments=()),)) + sum(map(_of_attachment, message.attachments))
        )
    if not callable(count):
        raise TypeError(f"count must be a function of a message, or have `count_tokens`; got {type(count).__name__}")
    return count
