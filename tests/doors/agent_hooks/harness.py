"""`run_agent` as a host of agent-hooks, for the conformance kit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_hooks import (
    InterceptionBlocked,
    InterceptionEmitter,
)
from agent_hooks.ctk import Capability, RunOutcome, RunRecord, Scenario, redact_paths
from agent_hooks.declaration import HostRegistry, HostSurface
from agent_hooks.emitter import IdentityProvider

from bobcat import FinalAnswer, Message, Policy, ToolCall, ToolSet, tool
from bobcat.guards.agent_hooks_host import run_intercepted

ALLOW = Policy.compile("rules: [{id: all, match: {}, decision: allow}]")


class ScriptedAgent:
    """The model of a scenario: its replies in order."""

    def __init__(self, scenario: Scenario) -> None:
        self._script = iter(scenario.model_script)

    async def step(self, conversation: Sequence[Message], /) -> FinalAnswer | list[ToolCall]:
        reply = next(self._script)
        if reply.tool_calls:
            return [
                ToolCall(each["name"], each["args"], each["id"], text=reply.content or "") for each in reply.tool_calls
            ]
        return FinalAnswer(reply.content)


class Harness:
    """Runs each vector in `run_agent`."""

    name = "bobcat.run_agent"
    capabilities = frozenset(
        {
            Capability.MODEL_CALLS,
            Capability.TOOL_CALLS,
            Capability.MULTI_TURN,
            Capability.INT64_JSON,
            Capability.BIGINT_JSON,
            Capability.HOST_DECLARATION,
        }
    )
    tool_seam_host_error = "continue"

    def host_surface(self) -> HostSurface:
        return HostSurface.from_capabilities(sorted(each.value for each in self.capabilities), "continue")

    def setup(
        self,
        scenario: Scenario,
        interceptors: list[Any],
        resolver: Any,
        mode: Any,
        composition: Any = None,
        identity_provider: str | None = "jcs-sha256",
        redact_for_approval: Sequence[str] | None = None,
    ) -> None:
        provider: Any = identity_provider
        if identity_provider == "ctk-fault":
            provider = IdentityProvider("ctk-fault", _raise)
        self._scenario = scenario
        self._emitter = InterceptionEmitter(
            mode=mode, resolver=resolver, composition=composition, identity_provider=provider
        )
        for each in interceptors:
            self._emitter.register(each)
        paths = list(redact_for_approval or ())
        if paths:
            self._emitter.set_approval_redactor(lambda context: redact_paths(context, paths))

    def setup_declared(self, scenario: Scenario, document: dict[str, Any], registry: HostRegistry) -> None:
        self._scenario = scenario
        self._emitter = InterceptionEmitter.from_declaration_value(document, registry)

    async def run(self) -> RunRecord:
        scenario, emitter, called = self._scenario, self._emitter, list[dict[str, Any]]()
        outcome, answer, error = RunOutcome.COMPLETED, None, None
        try:
            result = await run_intercepted(
                ScriptedAgent(scenario),
                scenario.input["content"],
                emitter=emitter,
                tools=_tools(scenario, called),
                policy=ALLOW,
                model_id="mock",
            )
        except InterceptionBlocked:
            outcome = RunOutcome.BLOCKED
        else:
            answer, error = result.final_answer, result.error
            if result.outcome != "succeeded":
                outcome = RunOutcome.ERROR
        return RunRecord(
            outcome,
            answer,
            called,
            error,
            identities=[(each.input_identity, each.enforced_identity) for each in emitter.results],
            records=[each.to_wire() for each in emitter.results],
        )

    def teardown(self) -> None:
        pass


class ToolFailed(Exception):
    """A tool of a scenario that reports an error."""


def _tools(scenario: Scenario, called: list[dict[str, Any]]) -> ToolSet:
    return ToolSet.from_functions(*(_tool(each, called) for each in scenario.tools.values()))


def _tool(spec: Any, called: list[dict[str, Any]]) -> Any:
    @tool(name=spec.name)
    async def call(**args: Any) -> Any:
        """A tool of the scenario."""
        value, failed = spec.invoke(args)
        called.append({"name": spec.name, "args": args})
        if failed:
            raise ToolFailed(str(value))
        return value

    return call


def _raise(_: Any) -> str:
    raise RuntimeError("a provider that fails")
