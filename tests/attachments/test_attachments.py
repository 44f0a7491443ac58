"""Attachments: their values, their bytes in stores, and their parts through the vendors' SDKs."""

from __future__ import annotations

import asyncio
import base64
import pickle
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from adapters.response_server import reply, said
from adapters.vendor_server import serving
from bobcat import Message, ToolSet
from bobcat.adapters.anthropic_sdk import ClaudeAgent
from bobcat.adapters.content_parts import IMAGE_TOKENS, with_text_only
from bobcat.adapters.openai_responses import OpenAIResponsesAgent
from bobcat.adapters.openai_sdk import OpenAIAgent
from bobcat.attachments import Attachment, AttachmentError, AttachmentLimits, AttachmentStore
from bobcat.attachments.store import CHUNK, CHUNK_KIND, KIND
from bobcat.stores.file import FileStore
from bobcat.stores.memory import MemoryStore
from bobcat.stores.protocol import DurableStore
from bobcat.stores.sqlite import SQLiteStore

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
PDF = b"%PDF-1.7\n%%EOF"
IMAGE = Attachment.from_bytes(PNG, name="shot.png")
PAPER = Attachment.from_bytes(PDF, name="bill.pdf")
NOTE = Attachment.text("12 €", name="note.md", media_type="text/markdown")
TOOLS = ToolSet.from_functions()


@pytest.mark.parametrize(
    ("data", "name", "media_type"),
    [
        (PNG, "x", "image/png"),
        (b"\xff\xd8\xff\xe0", "x.png", "image/jpeg"),
        (b"GIF89a..", "x", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "x", "image/webp"),
        (PDF, "x.txt", "application/pdf"),
        (b"a,b", "x.csv", "text/csv"),
        (b"plain", "x", "text/plain"),
        (b"plain", "x.png", "text/plain"),
        (b"\xff\xfe\0", "x", "application/octet-stream"),
    ],
)
def test_the_content_decides_the_media_type(data: bytes, name: str, media_type: str) -> None:
    assert Attachment.from_bytes(data, name=name).media_type == media_type


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("media_type", {"data": b"text", "media_type": "image/png"}),
        ("media_type", {"data": PNG, "media_type": "image/jpeg"}),
        ("media_type", {"data": b"\xff", "media_type": "text/plain"}),
        ("media_type", {"data": b"", "media_type": "png"}),
        ("media_type", {"data": b"", "media_type": "a/b\nc"}),
        ("name", {"data": b"", "name": "a/b"}),
        ("name", {"data": b"", "name": "a\nb"}),
        ("name", {"data": b"", "name": "a" * 256}),
    ],
)
def test_what_is_wrong_has_a_code(code: str, options: dict[str, Any]) -> None:
    with pytest.raises(AttachmentError) as caught:
        Attachment.from_bytes(**options)
    assert caught.value.code == code


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    assert Attachment.from_file(tmp_path / "shot.png") == IMAGE
    reference = Attachment.from_reference(IMAGE.reference())
    assert reference == IMAGE
    assert reference.data is None
    with pytest.raises(AttachmentError, match="not loaded"):
        reference.content()
    with pytest.raises(AttachmentError, match="reference"):
        Attachment.from_reference({"name": "x"})


def test_messages_without_attachments_are_as_before() -> None:
    message = Message("user", "go")
    assert repr(message) == (
        "Message(role='user', content='go', name=None, tool_call_id=None, tool_call_args=None, provider_data=None)"
    )
    assert message.__getstate__() == ["user", "go", None, None, None, None]
    restored = object.__new__(Message)
    restored.__setstate__(["user", "go", None, None, None, None])
    assert restored == message == pickle.loads(pickle.dumps(message))
    attached = Message("user", "go", attachments=(IMAGE,))
    assert pickle.loads(pickle.dumps(attached)) == attached != message
    assert "shot.png" in repr(attached)


@pytest.mark.parametrize("kind", ["memory", "file", "sqlite"])
def test_equal_bytes_are_stored_once(kind: str, tmp_path: Path) -> None:
    large = Attachment.from_bytes(bytes(range(256)) * (CHUNK // 128), name="large.bin")

    async def work() -> None:
        stores: dict[str, Any] = {
            "memory": MemoryStore,
            "file": lambda: FileStore(tmp_path / "journals"),
            "sqlite": lambda: SQLiteStore(tmp_path / "journals.db"),
        }
        store: DurableStore = stores[kind]()
        kept = AttachmentStore(store)
        await asyncio.gather(*(kept.save([large, IMAGE]) for _ in range(3)))
        assert len(await store.scan(KIND)) == 2
        assert len(await store.scan(CHUNK_KIND)) == 3
        chunks = await store.scan(CHUNK_KIND)
        await kept.save([large, IMAGE])
        assert await store.scan(CHUNK_KIND) == chunks
        references = [Attachment.from_reference(each.reference()) for each in (large, IMAGE)]
        assert [each.data for each in await kept.load(references)] == [large.data, PNG]
        await store.aclose()

    asyncio.run(work())


def test_damaged_and_missing_attachments_are_refused() -> None:
    async def work() -> None:
        store = MemoryStore()
        kept = AttachmentStore(store)
        with pytest.raises(AttachmentError) as caught:
            await kept.read(IMAGE.digest)
        assert caught.value.code == "missing"
        await kept.save([IMAGE])
        (chunk,) = await store.scan(CHUNK_KIND)
        for body in ({"data": base64.b64encode(b"other").decode()}, {"data": "?"}, {}):
            (chunk,) = await store.scan(CHUNK_KIND)
            await store.put(CHUNK_KIND, chunk.key, body, expected=chunk.version)
            with pytest.raises(AttachmentError) as caught:
                await kept.read(IMAGE.digest)
            assert caught.value.code == "damaged"
        await kept.save([IMAGE])
        assert await kept.read(IMAGE.digest) == PNG

    asyncio.run(work())


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (AttachmentLimits(attachment_bytes=5), "too_large"),
        (AttachmentLimits(message_bytes=30), "too_large"),
        (AttachmentLimits(count=1), "too_many"),
    ],
)
def test_caps_are_checked_before_anything_is_written(limits: AttachmentLimits, code: str) -> None:
    async def work() -> None:
        store = MemoryStore()
        with pytest.raises(AttachmentError) as caught:
            await AttachmentStore(store, limits=limits).save([IMAGE, PAPER])
        assert caught.value.code == code
        assert not await store.scan(KIND)
        assert not await store.scan(CHUNK_KIND)

    asyncio.run(work())


def _claude(*messages: Message) -> Any:
    usage = {"input_tokens": 1, "output_tokens": 1}
    reply = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip

    async def step(url: str) -> None:
        async with AsyncAnthropic(base_url=url, api_key="test", max_retries=0) as client:
            await ClaudeAgent(tools=TOOLS, client=client, cache_prompt=False).step(messages)

    with serving(reply) as vendor:
        asyncio.run(step(vendor.url))
    return vendor.requests[0]["messages"]


def _openai(*messages: Message) -> Any:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
    reply = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    async def step(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
            await OpenAIAgent(tools=TOOLS, client=client).step(messages)

    with serving(reply) as vendor:
        asyncio.run(step(vendor.url))
    return vendor.requests[0]["messages"]


def _responses(*messages: Message) -> Any:
    async def step(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="test", max_retries=0) as client:
            await OpenAIResponsesAgent(tools=TOOLS, client=client).step(messages)

    with serving(reply(said("ok"))) as vendor:
        asyncio.run(step(vendor.url))
    return vendor.requests[0]["input"]


def test_the_responses_api_gets_parts() -> None:
    (message,) = _responses(Message("user", "look", attachments=(IMAGE, PAPER, NOTE)))
    image, paper, note, text = message["content"]
    assert (image["type"], image["image_url"]) == (
        "input_image",
        "data:image/png;base64," + base64.b64encode(PNG).decode(),
    )
    assert (paper["type"], paper["filename"]) == ("input_file", "bill.pdf")
    assert paper["file_data"] == "data:application/pdf;base64," + base64.b64encode(PDF).decode()
    assert note == {"type": "input_text", "text": 'File "note.md":\n12 €'}
    assert text == {"type": "input_text", "text": "look"}
    assert _responses(Message("user", "look")) == [{"role": "user", "content": "look"}]


def test_claude_gets_blocks() -> None:
    (message,) = _claude(Message("user", "look", attachments=(IMAGE, PAPER, NOTE)))
    image, paper, note, text = message["content"]
    encoded = base64.b64encode(PNG).decode()
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded}}
    assert (paper["type"], paper["title"], paper["source"]["media_type"]) == ("document", "bill.pdf", "application/pdf")
    assert note["source"] == {"type": "text", "media_type": "text/plain", "data": "12 €"}
    assert (text["type"], text["text"]) == ("text", "look")
    assert _claude(Message("user", "", attachments=(IMAGE,)))[0]["content"] == [image]


def test_openai_gets_parts() -> None:
    (message,) = _openai(Message("user", "look", attachments=(IMAGE, PAPER, NOTE)))
    image, paper, note, text = message["content"]
    assert image["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert paper["file"]["filename"] == "bill.pdf"
    assert paper["file"]["file_data"] == "data:application/pdf;base64," + base64.b64encode(PDF).decode()
    assert note == {"type": "text", "text": 'File "note.md":\n12 €'}
    assert (text["type"], text["text"]) == ("text", "look")
    assert _openai(Message("user", "look")) == [{"role": "user", "content": "look"}]


def test_what_cannot_be_sent_is_refused() -> None:
    binary = Attachment.from_bytes(b"\xff\xfe\0", name="x.bin")
    for send in (_claude, _openai, _responses):
        for attachment, code in ((binary, "unsupported"), (Attachment.from_reference(IMAGE.reference()), "not_loaded")):
            with pytest.raises(AttachmentError) as caught:
                send(Message("user", "look", attachments=(attachment,)))
            assert caught.value.code == code
    with pytest.raises(AttachmentError, match="LangGraphAgent"):
        with_text_only([Message("user", "look", attachments=(IMAGE,))], "LangGraphAgent")


def test_a_ledger_counts_attachments() -> None:
    plain, attached = Message("user", "look"), Message("user", "look", attachments=(IMAGE,))
    for agent in (
        ClaudeAgent(tools=TOOLS, client=AsyncAnthropic(api_key="test")),
        OpenAIAgent(tools=TOOLS, client=AsyncOpenAI(api_key="test")),
        OpenAIResponsesAgent(tools=TOOLS, client=AsyncOpenAI(api_key="test")),
    ):
        assert agent.count_tokens([attached]) > agent.count_tokens([plain]) + IMAGE_TOKENS
