"""The same layered policies and obligations for whichever package is `lynx`: lynx-agent 2.11, or `bobcat.lynx` as it.

`python -m layers_of_2_11 SEED COUNT` prints one JSON line per case: decisions, results, events and calls of handlers.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import warnings
from random import Random
from typing import Any

import lynx
from lynx.core.mediator import mediate
from lynx.policy import evaluate

from oracle.corpus import typed
from oracle.lynx_policies import as_text, build, pick, policy, request, scalar

DUTIES = ("notify", "issue", "log", "fails", "ghost")
VERDICTS = ("allow", "deny", "dry_run", "approve_required", "transform")


def obligations(rng: Random) -> Any:
    """A list as a policy may have it, sometimes a malformed one."""
    items: list[Any] = []
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        long = {"id": rng.choice(DUTIES), "phase": rng.choice(["pre", "post"]), "params": {"n": scalar(rng)}}
        for key in rng.sample(["phase", "params"], rng.randrange(3)):
            del long[key]
        items.append(rng.choice([rng.choice(DUTIES), long, long]))
    if rng.random() < 0.06:
        odd = [5, "", None, {"phase": "pre"}, {"id": ""}, {"id": 5}, {"id": "a", "phase": "later"}]
        items.append(rng.choice([*odd, {"id": "a", "params": 5}, {"id": "a", "params": None}]))
    return pick(rng, (40, items), (1, tuple(items)), (1, None), (1, "notify"), (1, {"id": "a"}))


def source(rng: Random) -> Any:
    """A policy; a rule that has obligations has an id of its own, as `bobcat.lynx` requires."""
    data = policy(rng)
    rules = data.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict) and rng.random() < 0.4:
            rule.update(id=f"own{index}", obligations=obligations(rng))
    return (as_text(rng, data) or data) if rng.random() < 0.3 else data


def compiled(rng: Random) -> Any:
    """A policy that compiles, mostly: one in a few is left as it was refused."""
    for _ in range(4):
        written = source(rng)
        try:
            lynx.compile_policy(written)
        except Exception:  # lynx-agent refuses some policies by other exceptions
            if rng.random() < 0.05:
                break
        else:
            break
    return written


def python_rules(rng: Random) -> tuple[Any, ...]:
    """Rules that decide, abstain or raise."""
    return tuple(_python_rule(rng, name) for name in rng.sample(["first", "second"], rng.choice([0, 0, 0, 1, 2])))


def _python_rule(rng: Random, name: str) -> Any:
    kind, verdict = rng.randrange(6), rng.choice(["ALLOW", "DENY", "APPROVE_REQUIRED", "TRANSFORM"])
    matched = rng.choice([(), ("other",), (name,), ("r1",)])
    duties = tuple(lynx.Obligation(rng.choice(DUTIES), rng.choice(["pre", "post"])) for _ in range(rng.randrange(3)))

    def rule(request: Any, context: Any) -> Any:
        if kind < 2 or "n" in request.args:
            return None
        if kind == 2:
            raise KeyError("x")
        args = {"n": 1} if kind == 5 else None
        return lynx.Decision(lynx.Verdict[verdict], "python", matched, ("eve",), args, 7, duties)

    rule.__name__ = name
    return rule


def combiner(rng: Random) -> Any:
    def backwards(layers: Any) -> Any:
        return lynx.strict_overrides_loose(tuple(reversed(layers)))

    def dry(layers: Any) -> Any:
        named = tuple(name for name, found in layers if found is not None)
        return lynx.Decision(verdict=lynx.Verdict.DRY_RUN, reason="dry", matched_rules=named)

    own = [lynx.strict_overrides_loose, lynx.first_layer_wins, lynx.last_layer_wins, backwards, dry]
    return rng.choice([None, *own])


def shown(decision: Any) -> Any:
    args = decision.transform_args
    return [
        str(decision.verdict), exact(decision.reason), list(map(exact, decision.matched_rules)),
        list(map(exact, decision.approvers)), exact(decision.timeout_seconds),
        None if args is None else exact(dict(args)),
        [[each.id, each.phase, pairs(each.params)] for each in decision.obligations],
    ]  # fmt: skip


def exact(value: Any) -> Any:
    """A value as JSON that tells types apart, but not a set from a frozen one, nor the order of a mapping."""
    if isinstance(value, dict):
        return ["map", sorted(([exact(key), exact(item)] for key, item in value.items()), key=repr)]
    if isinstance(value, list):
        return ["list", *map(exact, value)]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(repr(typed(item)) for item in value)]
    return re.sub(r" at 0x[0-9a-f]+", "", repr(typed(value)))


def pairs(given: Any) -> list[str]:
    return sorted(map(repr, given.items()))


def layered(seed: int) -> Any:
    """Decisions of a layered policy."""
    rng = Random(seed)
    names = rng.sample(["org", "team", "project", "run"], rng.choice([1, 2, 2, 3, 4]))
    layers = [lynx.PolicyLayer(name, compiled(rng), python_rules(rng)) for name in names]
    merge = combiner(rng)
    try:
        bundle = lynx.compile_policy(layers, merge=merge)
    except Exception:
        return None
    decisions = []
    for _ in range(4):
        made = build(lynx, request(rng))
        decisions.append(shown(evaluate(bundle, made, made.context)))
    found = [[name, layer.id] for name, layer in bundle.layers]
    return [bundle.id, found, str(bundle.defaults), list(bundle.source_files), decisions]


def single(seed: int) -> Any:
    """Decisions of one policy with obligations."""
    rng = Random(seed)
    written, rules = compiled(rng), python_rules(rng)
    try:
        bundle = lynx.compile_policy(written, python_rules=rules, python_rule_priorities=(("first", 2),))
    except Exception:
        return None
    decisions = []
    for _ in range(4):
        made = build(lynx, request(rng))
        decisions.append(shown(evaluate(bundle, made, made.context)))
    return [bundle.id, decisions]


class World:
    """A tool, handlers and an approver that record their calls."""

    def __init__(self, rng: Random) -> None:
        self.done: list[Any] = []
        fails, shadowed, granted = rng.random() < 0.2, rng.random() < 0.7, rng.random() < 0.6

        @lynx.tool(scope=("a",), name="act")
        async def act(**args: Any) -> Any:
            self.done.append(["act", pairs(args)])
            if fails:
                raise ValueError("the tool failed")
            return "acted"

        if shadowed:

            @lynx.shadow(act)
            async def preview(**args: Any) -> Any:
                self.done.append(["preview", pairs(args)])
                return "would act"

        async def approver(asked: Any) -> Any:
            self.done.append(["asked", [each.id for each in asked.decision.obligations]])
            if fails and not granted:
                raise OSError("away")
            return lynx.ApprovalDecision(granted, "ops", "")

        def handler(name: str) -> Any:
            async def handle(duty: Any, request: Any, context: Any) -> None:
                self.done.append([name, duty.id, duty.phase, pairs(request.args), context.environment])
                if name == "fails":
                    raise RuntimeError("no connection")

            return handle

        self.tools, self.approver = lynx.ToolSet.from_functions(act), approver
        names = rng.sample(DUTIES[:-1], rng.choice([2, 4, 4, 4]))
        self.handlers = None if rng.random() < 0.1 else {name: handler(name) for name in names}


def decision(rng: Random) -> Any:
    """A decision with obligations; a transform sometimes lacks its arguments."""
    duties = tuple(
        lynx.Obligation(rng.choice(DUTIES), rng.choice(["pre", "post"]), {"n": 1}) for _ in range(rng.randrange(4))
    )
    verdict = rng.choice(VERDICTS)
    args = {"y": 2} if rng.random() < 0.8 else None
    return lynx.Decision(lynx.Verdict(verdict), "why", ("r",), (), args, None, duties)


def outcomes(result: Any) -> Any:
    """A result: the error to its first line, the others are the frames of the package."""
    error = result.error and result.error.partition("\n")[0]
    met = [[each.id, each.phase, each.fulfilled, each.error] for each in result.obligations]
    return [result.ok, result.value, error, met]


async def mediated(seed: int) -> Any:
    """One decided call."""
    rng = Random(seed)
    world, given = World(rng), decision(rng)
    parts = {**request(rng), "tool": "act", "args": {"x": 1}}
    result = await mediate(build(lynx, parts), given, world.tools, world.approver, obligations=world.handlers)
    return [outcomes(result), world.done]


async def ran(seed: int) -> Any:
    """A run whose rules have obligations, alone or in layers, and the events of the run."""
    rng = Random(seed)
    world, events = World(rng), []

    def rules(prefix: str) -> dict[str, Any]:
        made = []
        for index in range(rng.randrange(1, 4)):
            verdict = rng.choice(VERDICTS)
            rule = {"id": f"{prefix}{index}", "match": {"args.x": index}, "decision": verdict}
            rule["obligations"] = [item for item in obligations(random_of(rng)) or () if isinstance(item, str | dict)]
            rule["obligations"] = [item for item in rule["obligations"] if is_sound(item)]
            made.append({**rule, "transform": {"set": 9, "jsonpath": "$.args.x"}} if verdict == "transform" else rule)
        return {"defaults": {"on_no_match": "allow"}, "rules": made}

    if rng.random() < 0.5:
        bundle = lynx.compile_policy(rules("r"))
    else:
        bundle = lynx.compile_policy([lynx.PolicyLayer("org", rules("o")), lynx.PolicyLayer("run", rules("r"))])
    calls = [lynx.ToolCall("act", {"x": rng.randrange(4)}, f"c{index}") for index in range(3)]

    class Agent:
        async def step(self, conversation: Any) -> Any:
            return calls.pop(0) if calls else lynx.FinalAnswer(conversation[-1].content.partition("\n")[0])

    async def sink(event: Any) -> None:
        body = {**event.body, "duration_ms": 0}
        events.append([event.kind, event.bundle_id, {key: first_line(value) for key, value in body.items()}])

    result = await lynx.run_agent(
        Agent(), "t", tools=world.tools, policy=bundle, sinks=[lynx.callback_sink(sink)] if rng.random() < 0.7 else (),
        on_approval=world.approver, obligations=world.handlers,
    )  # fmt: skip
    return [result.final_answer, result.error, result.steps_taken, events, world.done]


def random_of(rng: Random) -> Random:
    return Random(rng.random())


def is_sound(item: Any) -> bool:
    if isinstance(item, str):
        return item != ""
    return (
        item.get("phase") in (None, "pre", "post")
        and isinstance(item.get("params", {}), dict)
        and bool(isinstance(item.get("id"), str) and item["id"])
    )


def first_line(value: Any) -> Any:
    return value.partition("\n")[0] if isinstance(value, str) else value


def main(seed: int, count: int) -> None:
    def show(name: str, found: Any) -> None:
        print(json.dumps([name, found], default=repr))

    for number in range(seed, seed + count):
        show(f"layered {number}", layered(number))
        show(f"single {number}", single(number))
        show(f"mediated {number}", asyncio.run(mediated(number)))
        show(f"ran {number}", asyncio.run(ran(number)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
