"""A real LiteLLM proxy in front of a fake model, which answers what the last message of a request says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import bobcat

SETTINGS = """
model_list:
  - {{model_name: fake, litellm_params: {{model: openai/fake, api_base: "{url}/v1", api_key: none}}}}
general_settings: {{master_key: sk-1}}
guardrails:
  - guardrail_name: bobcat
    litellm_params: {{guardrail: bobcat.guards.litellm.GuardGuardrail, mode: post_call, {parameters}}}
"""


class Model(BaseHTTPRequestHandler):
    """Answers a chat completion with the JSON of the last message, `{"choices": [[{"name", "arguments"}]]}`."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/responses"):
            self._respond(request)
            return
        said = json.loads(_text(request["messages"][-1]["content"]))
        base = {"id": "1", "created": 1, "model": "fake"}
        if not request.get("stream"):
            choices = [_choice(index, calls) for index, calls in enumerate(said["choices"])]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            self._send("application/json", json.dumps(
                {**base, "object": "chat.completion", "choices": choices, "usage": usage}
            ))  # fmt: skip
            return
        chunks = [*_chunks(said), *([] if said.get("cut") else [_end(index) for index in range(len(said["choices"]))])]
        lines = [json.dumps({**base, "object": "chat.completion.chunk", "choices": [each]}) for each in chunks]
        self._send("text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]))

    def _respond(self, request: Any) -> None:
        """Answer a request of the Responses API."""
        given = request["input"]
        calls = json.loads(given if isinstance(given, str) else _text(given[-1]["content"]))["choices"][0]
        output = [
            {"type": "function_call", "id": f"f{at}", "call_id": f"c{at}", "status": "completed", **call}
            for at, call in enumerate(calls)
        ]
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        answer = {"id": "r", "object": "response", "created_at": 1, "model": "fake", "status": "completed"}
        answer |= {"output": output, "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        if not request.get("stream"):
            self._send("application/json", json.dumps(answer))
            return
        events = [{"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}}]
        for at, item in enumerate(output):
            place = {"output_index": at, "item_id": item["id"]}
            begun = {**item, "arguments": "", "status": "in_progress"}
            events.append({"type": "response.output_item.added", "output_index": at, "item": begun})
            events += [
                {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]},
                {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
                {"type": "response.output_item.done", "output_index": at, "item": item},
            ]
        events = [
            {**each, "sequence_number": at}
            for at, each in enumerate([*events, {"type": "response.completed", "response": answer}])
        ]
        lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
        self._send("text/event-stream", "".join(lines))

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


def _text(content: Any) -> str:
    return content if isinstance(content, str) else content[0]["text"]


def _calls(calls: list[Any]) -> list[Any]:
    return [{"id": f"c{at}", "type": "function", "function": call} for at, call in enumerate(calls)]


def _choice(index: int, calls: list[Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": None if calls else "done", "tool_calls": _calls(calls) or None}
    return {"index": index, "finish_reason": "tool_calls" if calls else "stop", "message": message}


def _chunks(said: Any) -> Iterator[dict[str, Any]]:
    for index, calls in enumerate(said["choices"]):
        for at, call in enumerate(_calls(calls)):
            text = call["function"]["arguments"]
            first = {**call, "index": at, "function": {**call["function"], "arguments": ""}}
            parts = [first, *({"index": at, "function": {"arguments": each}} for each in (text[:5], text[5:]))]
            for part in parts:
                yield {"index": index, "delta": {"role": "assistant", "tool_calls": [part]}, "finish_reason": None}
        if not calls:
            yield {"index": index, "delta": {"role": "assistant", "content": "done"}, "finish_reason": None}


def _end(index: int) -> dict[str, Any]:
    return {"index": index, "delta": {}, "finish_reason": "tool_calls"}


@contextmanager
def model() -> Iterator[str]:
    """Serve the model; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class Proxy:
    """A running proxy."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: Any) -> tuple[int, str]:
        """Send a request; returns the status and the text of the answer."""
        return self._send(path, json.dumps(body).encode())

    def get(self, path: str) -> tuple[int, str]:
        """Send a request without a body."""
        return self._send(path, None)

    def _send(self, path: str, data: bytes | None) -> tuple[int, str]:
        headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-1"}
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@contextmanager
def proxy(place: Path, parameters: str, more: str = "") -> Iterator[Proxy]:
    """Start a proxy whose guardrail has `parameters`; `more` are other settings. Both are YAML."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    package = str(Path(bobcat.__file__).parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "LITELLM_ENABLE_MCP_STDIO": "true",
    }
    log, config = place / "proxy.log", place / "config.yaml"
    command = [
        Path(sys.executable).with_name("litellm"),
        "--config",
        config,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with model() as url, log.open("wb") as out:
        config.write_text(SETTINGS.format(url=url, parameters=parameters) + more)
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=place)
        try:
            found = Proxy(f"http://127.0.0.1:{port}")
            _wait(found, process, log)
            yield found
        finally:
            process.terminate()
            process.wait(30)


def _wait(found: Proxy, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(found.url + "/health/liveliness", timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(log.read_text()[-3000:])
