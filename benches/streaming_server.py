"""A model server in a process of its own: it streams one reply in a vendor's protocol, a part every two milliseconds.

`/v1/messages` is Anthropic's, every other path OpenAI's Chat Completions. It prints its port when it listens.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pathlib import Path

PAUSE = 0.002
WORDS = 20
TEXT = "word " * WORDS


def parts_of(path: str) -> list[bytes]:
    """The events of a reply."""
    if path.endswith("/messages"):
        block = {"type": "text", "text": TEXT}
        message = {
            "id": "msg", "type": "message", "role": "assistant", "model": "claude-opus-5", "content": [block],
            "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 40, "output_tokens": WORDS},
        }  # fmt: skip
        raw: bytes = import_module("adapters.vendor_server").message_events(message)
        return [event + b"\n\n" for event in raw.split(b"\n\n") if event]
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 40, "completion_tokens": WORDS, "total_tokens": 40 + WORDS}
    reply = {"id": "c", "model": "gpt-5", "choices": [choice], "usage": usage}
    found: list[bytes] = import_module("adapters.stream_server").chat_chunks(reply)
    return found


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode("latin-1").split("\r\n")
            sizes = [line for line in lines if line.lower().startswith("content-length:")]
            await reader.readexactly(int(sizes[0].split(":")[1]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for part in parts_of(lines[0].split()[1].partition("?")[0]):
                writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                await writer.drain()
                await asyncio.sleep(PAUSE)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    asyncio.run(main())
