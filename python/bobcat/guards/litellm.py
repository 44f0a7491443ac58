"""LiteLLM: a guardrail of the proxy that decides the tool calls of answers, and those of its MCP gateway.

    guardrails:
      - guardrail_name: bobcat
        litellm_params: {guardrail: bobcat.guards.litellm.GuardGuardrail, mode: post_call, policy: policy.yaml}

The client runs the tools: a call that the policy does not permit must not reach it. An answer with such a call is an
error of status 400, as is every fault of the guard. The record of a permitted call says that it was released.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bobcat.bundle import Policy
from bobcat.guard import Guard, Outcome
from bobcat.guards.answers import answer_text
from bobcat.guards.litellm_calls import Proposed, calls_of_answer, calls_of_stream, hosted_tools_of
from bobcat.model.decision import Principal
from bobcat.text.json_text import format_exception, json_text

try:
    from fastapi import HTTPException
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("this door needs `pip install 'bobcat[litellm]'`", name=error.name) from error

RELEASED = "released to the client"
_EVENTS = [GuardrailEventHooks.pre_call, GuardrailEventHooks.post_call, GuardrailEventHooks.pre_mcp_call]
_MCP = "call_mcp_tool"


class GuardGuardrail(CustomGuardrail):
    """The guardrail. It runs for every request, whatever `mode` and the request say.

    The policy is that of `guard`, or the file at `policy`: a bundle (`.bobcat`), or YAML. `log` and `store` are those
    of the `Guard` that is then made. The principal of a call is the user of the API key. An answer with several calls
    is released if all of them are permitted. Requests with tools that the provider runs are refused;
    `hosted_tools=True` permits them. Raises `ValueError` without a policy, and the errors of `Policy` and `Guard`.
    """

    use_native_lifecycle_hooks = True

    def __init__(
        self,
        *,
        guard: Guard | None = None,
        policy: str | None = None,
        log: str | None = None,
        store: str | None = None,
        hosted_tools: bool = False,
        **options: Any,  # Any: the parameters of LiteLLM's own guardrails
    ) -> None:
        if (guard is None) == (policy is None):
            raise ValueError("the guardrail needs either `guard` or `policy`")
        options |= {"event_hook": list(_EVENTS), "supported_event_hooks": list(_EVENTS), "default_on": True}
        super().__init__(**options)
        self._guard = Guard(_policy(Path(policy or "")), log=log, store=store) if guard is None else guard
        self._hosted_tools = hosted_tools

    def should_run_guardrail(self, data: Any, event_type: GuardrailEventHooks) -> bool:
        """Run for every request: a request cannot opt out."""
        return event_type in _EVENTS

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any, data: Any, call_type: str) -> Any:
        """Decide a call of the MCP gateway; refuse other requests with tools that the provider runs."""
        if call_type != _MCP:
            hosted = [] if self._hosted_tools else hosted_tools_of(data)
            if hosted:
                raise _refusal(f"the guard does not see these tools: {', '.join(hosted)}")
            return data
        args = data.get("mcp_arguments")
        call = Proposed(data.get("mcp_tool_name"), {} if args is None else args, lambda _: None)
        (effective,) = await self._released([call], user_api_key_dict)
        if effective != call.args:
            if not effective:
                raise _refusal("LiteLLM cannot replace arguments by none")
            data["modified_arguments"] = effective
        return data

    async def async_post_call_success_hook(self, data: Any, user_api_key_dict: Any, response: Any) -> Any:
        """Decide the calls of an answer."""
        calls = _read(calls_of_answer, response)
        for call, effective in zip(calls, await self._released(calls, user_api_key_dict), strict=True):
            if effective != call.args:
                call.replace(effective)
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: Any
    ) -> AsyncIterator[Any]:
        """Hold a stream back until all of its calls are decided."""
        chunks = [chunk async for chunk in response]
        calls = _read(calls_of_stream, chunks)
        effective = await self._released(calls, user_api_key_dict)
        if any(args != call.args for call, args in zip(calls, effective, strict=True)):
            raise _refusal("the policy changes the arguments of a call, which a stream cannot show")
        for chunk in chunks:
            yield chunk

    async def _released(self, calls: list[Proposed], key: Any) -> list[dict[str, Any]]:
        """The effective arguments of calls that are all permitted. Raises `HTTPException` otherwise."""
        principal = Principal("user", getattr(key, "user_id", None) or "anonymous")
        options: dict[str, Any] = {"run": _release, "principal": principal}
        try:
            decided = [(await self._guard.check(call.name, call.args, **options)).status for call in calls]
            refused = [at for at, status in enumerate(decided) if status not in ("ok", "waiting")]
            # Where a call is refused, the others are not released, and have no record. Where none is, those that wait
            # for an approver are submitted first, for the same reason.
            order = refused or sorted(range(len(calls)), key=lambda at: decided[at] != "waiting")
            outcomes: dict[int, Outcome] = {}
            for at in order:
                outcomes[at] = await self._guard.submit(calls[at].name, calls[at].args, **options)
                if not refused and not outcomes[at].ok:
                    break
        except Exception as error:
            raise _refusal(f"[failed] {format_exception(error)}") from error
        if refused or not all(each.ok for each in outcomes.values()):
            raise _refusal("; ".join(f"{each.tool}: {answer_text(each)}" for each in outcomes.values() if not each.ok))
        return [json.loads(json_text(outcomes[at].args)) for at in range(len(calls))]


async def _release(**_: Any) -> str:
    return RELEASED


def _read(read: Any, answer: Any) -> list[Proposed]:
    try:
        found: list[Proposed] = read(answer)
        return found
    except Exception as error:
        raise _refusal(f"[failed] {format_exception(error)}") from error


def _policy(path: Path) -> Policy:
    return Policy.load(path) if path.suffix == ".bobcat" else Policy.compile(path)


def _refusal(text: str) -> HTTPException:
    return HTTPException(status_code=400, detail={"error": text})
