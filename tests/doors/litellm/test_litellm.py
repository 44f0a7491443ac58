"""The real proxy of LiteLLM with the guardrail, in front of a fake model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm", reason="LiteLLM has an environment of its own: `make check-doors`")

from bobcat import Guard, Policy
from bobcat.decision_log import open_log
from bobcat.guards.litellm import GuardGuardrail
from bobcat.guards.litellm_calls import calls_of_answer, calls_of_stream, hosted_tools_of
from doors.litellm.proxy import Proxy, proxy

POLICY = """
defaults: {on_no_match: deny, on_missing_shadow: deny}
rules:
  - {id: small, match: {tool: pay, args.amount.between: [1, 9]}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.between: [10, 99]}, decision: approve_required, approvers: [alice]}
  - {id: shout, match: {tool: say}, decision: transform, transform: {jsonpath: $.args.text, append: "!"}}
  - {id: try, match: {tool: try}, decision: dry_run}
  - {id: gateway, match: {tool.matches: "echo$", args.text: hello}, decision: allow}
  - id: shouted
    match: {tool.matches: "echo$", args.text: shout}
    decision: transform
    transform: {jsonpath: $.args.text, append: "!"}
"""
GATEWAY = """
mcp_servers:
  notes: {transport: stdio, command: %s, args: [%s]}
"""
SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("notes")


@server.tool()
def echo(text: str) -> str:
    """Echo a text."""
    with open(__file__ + ".ran", "a") as file:
        file.write(text + "\\n")
    return "echoed " + text


server.run()
'''


class Gate:
    """A running proxy, its log and the calls of its MCP server."""

    def __init__(self, found: Proxy, place: Path) -> None:
        self.proxy, self.place = found, place
        self.seen: set[str] = set()

    def ask(self, *choices: Any, path: str = "/v1/chat/completions", **more: Any) -> tuple[int, str]:
        """Let the model propose calls."""
        said = json.dumps({"choices": choices, "cut": more.pop("cut", False)})
        body = {"model": "fake", "max_tokens": 9, "messages": [{"role": "user", "content": said}], **more}
        if path.endswith("responses"):
            body = {"model": "fake", "input": said, **more}
        return self.proxy.post(path, body)

    def records(self) -> list[tuple[str, str]]:
        """The records since the last time."""
        with open_log(self.place / "log.db") as log:
            found = [each for each in log.records() if each.record_id not in self.seen]
        self.seen |= {each.record_id for each in found}
        return sorted((each.tool, each.status) for each in found)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    place = tmp_path_factory.mktemp("proxy")
    (place / "policy.yaml").write_text(POLICY)
    (place / "server.py").write_text(SERVER)
    settings = GATEWAY % (json.dumps(sys.executable), json.dumps(str(place / "server.py")))
    with proxy(place, f"policy: {place / 'policy.yaml'}, log: {place / 'log.db'}", settings) as found:
        yield Gate(found, place)


@pytest.fixture
def gate(running: Gate) -> Gate:
    if (running.place / "log.db").exists():
        running.records()
    return running


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}


PAY, LARGE, DENIED = call("pay", {"amount": 4}), call("pay", {"amount": 40}), call("pay", {"amount": 400})
SAY = call("say", {"text": "a"})
CASES: list[tuple[Any, int, str, list[str]]] = [
    ([[]], 200, "done", []),
    ([[PAY]], 200, "pay", ["ok"]),
    ([[PAY, PAY]], 200, "pay", ["ok", "ok"]),
    ([[DENIED]], 400, "[denied]", ["denied"]),
    ([[PAY, DENIED]], 400, "[denied]", ["denied"]),
    ([[PAY], [DENIED]], 400, "[denied]", ["denied"]),
    ([[LARGE]], 400, "no on_approval handler", ["denied"]),
    ([[PAY, LARGE]], 400, "[denied]", ["denied"]),
    ([[call("try", {})]], 400, "[previewed]", ["previewed"]),
    ([[call("nothing", {})]], 400, "[denied]", ["denied"]),
    ([[call("pay", "{")]], 400, "[failed]", []),
    ([[call("pay", "[4]")]], 400, "[failed]", []),
    ([[call("pay", '{"amount": 400, "amount": 4}')]], 400, "twice", []),
    ([[call("pay", '{"amount": NaN}')]], 400, "NaN", []),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("choices", "status", "text", "records"), CASES)
def test_an_answer_is_released_if_all_of_its_calls_are_permitted(
    gate: Gate, choices: Any, status: int, text: str, records: list[str], stream: bool
) -> None:
    found, answer = gate.ask(*choices, stream=stream)
    assert (found, text in answer) == (status, True), answer
    assert ('"arguments":' in answer) is (status == 200 and choices != [[]])
    assert [each[1] for each in gate.records()] == records


def test_a_transform_changes_the_arguments_of_the_answer(gate: Gate) -> None:
    status, answer = gate.ask([SAY, PAY])
    assert status == 200
    found = [each["function"] for each in json.loads(answer)["choices"][0]["message"]["tool_calls"]]
    assert [json.loads(each["arguments"]) for each in found] == [{"text": "a!"}, {"amount": 4}]


def test_a_transform_of_a_stream_is_refused(gate: Gate) -> None:
    status, answer = gate.ask([SAY], stream=True)
    assert (status, "which a stream cannot show" in answer, '"arguments":' in answer) == (400, True, False)


@pytest.mark.parametrize("choices", [[DENIED], [PAY, DENIED]])
def test_a_stream_that_is_cut_off_is_decided_too(gate: Gate, choices: Any) -> None:
    status, answer = gate.ask(choices, stream=True, cut=True)
    assert (status, '"arguments":' in answer) == (400, False), answer


@pytest.mark.parametrize(
    "options",
    [
        {"guardrails": []},
        {"metadata": {"disable_global_guardrails": True, "guardrails": []}},
        {"disable_global_guardrails": True},
        {"litellm_metadata": {"disable_global_guardrail": True, "opted_out_global_guardrails": ["bobcat"]}},
        {"metadata": {"opted_out_global_guardrails": ["bobcat"]}},
    ],
)
def test_a_request_cannot_opt_out(gate: Gate, options: dict[str, Any]) -> None:
    status, answer = gate.ask([DENIED], **options)
    assert (status, '"arguments":' in answer) == (400, False), answer


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_the_other_endpoints_with_calls_are_decided(gate: Gate, path: str) -> None:
    status, answer = gate.ask([PAY], path=path)
    assert (status, "amount" in answer) == (200, True), answer
    status, answer = gate.ask([DENIED], path=path)
    assert (status, "[denied]" in answer) == (400, True), answer
    status, answer = gate.ask([SAY], path=path)
    assert (status, "a!" in answer) == (200, True), answer


@pytest.mark.parametrize(("call", "released"), [(PAY, True), (DENIED, False), (SAY, False)])
def test_a_stream_of_messages_is_decided(gate: Gate, call: Any, released: bool) -> None:
    status, answer = gate.ask([call], path="/v1/messages", stream=True)
    assert (status == 200, "input_json_delta" in answer) == (released, released), answer


@pytest.mark.parametrize("call", [PAY, DENIED])
def test_a_stream_that_the_guardrail_cannot_read_is_refused(gate: Gate, call: Any) -> None:
    _, answer = gate.ask([call], path="/v1/responses", stream=True)
    assert "amount" not in answer, answer


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "web_search_preview"}],
        [{"type": "mcp", "server_url": "litellm_proxy"}],
        [{"type": "code_interpreter"}],
    ],
)
def test_a_request_with_tools_of_the_provider_is_refused(gate: Gate, tools: Any) -> None:
    for path in ("/v1/chat/completions", "/v1/responses"):
        status, answer = gate.ask([], path=path, tools=tools)
        assert (status, "does not see" in answer) == (400, True), answer
    function = {"type": "function", "function": {"name": "pay", "parameters": {"type": "object"}}}
    assert gate.ask([PAY], tools=[function])[0] == 200


@pytest.mark.parametrize(
    ("text", "ran", "records"), [("hello", ["hello"], ["ok"]), ("shout", ["shout!"], ["ok"]), ("bye", [], ["denied"])]
)
def test_a_call_of_the_mcp_gateway_is_decided(gate: Gate, text: str, ran: list[str], records: list[str]) -> None:
    out = gate.place / "server.py.ran"
    out.unlink(missing_ok=True)
    request = {"server_id": _server(gate), "name": "echo", "arguments": {"text": text}}
    gate.proxy.post("/mcp-rest/tools/call", request)
    assert (out.read_text().split() if out.exists() else []) == ran
    assert [each[1] for each in gate.records()] == records


def _server(gate: Gate) -> str:
    status, answer = gate.proxy.get("/mcp-rest/tools/list")
    assert status == 200, answer
    return str(json.loads(answer)["tools"][0]["mcp_info"]["server_id"])


def test_the_guardrail_needs_one_policy() -> None:
    with pytest.raises(ValueError, match="either"):
        GuardGuardrail()
    with Guard(Policy.compile("rules: []")) as guard, pytest.raises(ValueError, match="either"):
        GuardGuardrail(guard=guard, policy="policy.yaml")


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


TOOL = {"type": "tool_use", "id": "t", "name": "pay", "input": {}}
PARTS = [{"type": "input_json_delta", "partial_json": part} for part in ('{"amo', 'unt": 4}')]


def test_the_calls_of_a_stream_of_messages_are_read_whole() -> None:
    stream = [
        event("message_start", message={"content": []}),
        event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        event("content_block_delta", index=0, delta={"type": "text_delta", "text": "é"}),
        event("content_block_start", index=1, content_block=TOOL),
        *(event("content_block_delta", index=1, delta=part) for part in PARTS),
        event("content_block_stop", index=1),
        event("message_stop"),
    ]
    whole = "".join(stream).encode()
    for chunks in ([whole], [whole[:150], whole[150:]], [whole[at : at + 1] for at in range(len(whole))]):
        assert [(each.name, each.args) for each in calls_of_stream(chunks)] == [("pay", {"amount": 4})]


@pytest.mark.parametrize(
    "stream",
    [
        event("message_start", message={"content": [TOOL]}),
        event("content_block_start", index=1, content_block={**TOOL, "input": {"amount": 4}}),
        event("content_block_start", index=1, content_block={"type": "server_tool_use", "name": "web_search"}),
        event("content_block_start", index=1, content_block=TOOL) * 2,
        event("content_block_delta", index=1, delta=PARTS[0]),
        event("content_block_start", index=1, content_block=TOOL)
        + event("content_block_delta", index=1, delta=PARTS[0]),
        event("response.completed", response={}),
        "data: {\n\n",
        "id: 1\n\n",
        b"\xff",
    ],
)
def test_a_stream_of_messages_that_is_not_understood_is_an_error(stream: Any) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        calls_of_stream([stream])


@pytest.mark.parametrize("answer", [None, "text", {"type": "message"}, {"choices": []}, b"data"])
def test_an_answer_that_is_not_understood_is_an_error(answer: Any) -> None:
    with pytest.raises(TypeError):
        calls_of_answer(answer)
    with pytest.raises((TypeError, ValueError)):
        calls_of_stream([answer])


def test_tools_of_the_client_are_not_hosted() -> None:
    local = [{"type": "function", "function": {}}, {"name": "a", "input_schema": {}}, {"type": "custom", "name": "b"}]
    assert hosted_tools_of({"tools": local}) == []
    assert hosted_tools_of({"tools": [{}], "web_search_options": {}}) == ["None", "web_search_options"]
