"""Twenty rules three ways: Python that is called back, the same Python compiled, and YAML; and fifty rules on texts.

`python benches/python_rules.py` prints a table; `--json > benches/python_rules_results.json` keeps the figures.

The three policies decide on the same calls, and must agree before they are timed. They take turns, and each figure is
the best of many short rounds, so that what else the machine does is in none of them. `texts` are the figures of fifty
rules on one tool that read a text in lower case or search it for a pattern. `corpus_compiled` is how many of the rules
of `tests/pyrules/corpus` are compiled.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bobcat
from bobcat import Decision, approve_required, compile_policy, deny, request_from_json
from bobcat.bundle.host_code import host_code
from bobcat.bundle.model import PolicyBundle
from bobcat.frontend.python.lower import lower_function
from bobcat.ir import construct
from bobcat.ir.schema import HostRule

sys.path.append(str(Path(__file__).parents[1] / "tests"))

ROUNDS = 300
COMPILED = 3
CALLS = 400
Rule = Callable[[Any, Any], Decision | None]  # Any: a request and a context


def r01(req: Any, ctx: Any) -> Decision | None:
    return deny("no deleting") if req.tool == "shell" and req.args["cmd"].startswith("rm ") else None


def r02(req: Any, ctx: Any) -> Decision | None:
    return deny("never by force") if req.tool == "shell" and "--force" in req.args["cmd"] else None


def r03(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "refund" and req.args["amount"] > 500:
        return approve_required(("lead",), reason="a large refund")
    return None


def r04(req: Any, ctx: Any) -> Decision | None:
    return deny("too much") if req.tool == "refund" and req.args["amount"] > 5000 else None


def r05(req: Any, ctx: Any) -> Decision | None:
    return deny("another currency") if req.tool == "refund" and req.args["currency"] not in ("EUR", "USD") else None


def r06(req: Any, ctx: Any) -> Decision | None:
    if req.tool in ("read", "write") and ".." in req.args["path"]:
        return deny("leaves its directory")
    return None


def r07(req: Any, ctx: Any) -> Decision | None:
    return deny("a secret") if req.tool == "read" and req.args["path"].endswith((".pem", ".env")) else None


def r08(req: Any, ctx: Any) -> Decision | None:
    return deny("outside") if req.tool == "write" and not req.args["path"].startswith(("/srv/", "/tmp/")) else None


def r09(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "mail" and not all(to.endswith("@example.com") for to in req.args["to"]):
        return approve_required(("comms",), reason="mail to strangers")
    return None


def r10(req: Any, ctx: Any) -> Decision | None:
    return deny("too many recipients") if req.tool == "mail" and len(req.args["to"]) > 20 else None


def r11(req: Any, ctx: Any) -> Decision | None:
    return deny("a blind copy") if req.tool == "mail" and "bcc" in req.args else None


def r12(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "query" and re.search(r"(?i)\bdrop\s+table\b", req.args["sql"]):
        return deny("structure stays")
    return None


def r13(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "query" and ctx.environment == "prod" and not req.args["sql"].lower().startswith("select"):
        return approve_required(("dba",), reason="a write in prod")
    return None


def r14(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "deploy" and ctx.environment == "prod" and ctx.principal.kind != "service":
        return deny("not in prod")
    return None


def r15(req: Any, ctx: Any) -> Decision | None:
    return deny("an old version") if req.tool == "deploy" and req.args["version"] in ("1.0", "1.1", "1.2") else None


def r16(req: Any, ctx: Any) -> Decision | None:
    radius = req.declared.blast_radius_hint
    return approve_required(("sre",), reason="touches much") if radius is not None and radius > 100 else None


def r17(req: Any, ctx: Any) -> Decision | None:
    return deny("not https") if req.tool == "fetch" and not req.args["url"].startswith("https://") else None


def r18(req: Any, ctx: Any) -> Decision | None:
    return deny("too late in the run") if ctx.step_seq > 50 and req.declared.cost == "high" else None


def r19(req: Any, ctx: Any) -> Decision | None:
    return deny("the ticket of another") if req.tool == "ticket" and req.args["owner"] != ctx.principal.id else None


def r20(req: Any, ctx: Any) -> Decision | None:
    if req.tool == "ticket" and 1 <= req.args["priority"] <= 2 and req.args["state"] == "closed":
        return approve_required(("desk",), reason="closes an urgent ticket")
    return None


RULES: tuple[Rule, ...] = (
    r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19, r20,
)  # fmt: skip
YAML = r"""
rules:
  - {id: r01, match: {tool: shell, args.cmd.starts_with: 'rm '}, decision: deny, reason: no deleting}
  - {id: r02, match: {tool: shell, args.cmd.contains: '--force'}, decision: deny, reason: never by force}
  - {id: r03, match: {tool: refund, args.amount.gt: 500}, decision: approve_required, approvers: [lead], timeout_seconds: 1800, reason: a large refund}
  - {id: r04, match: {tool: refund, args.amount.gt: 5000}, decision: deny, reason: too much}
  - {id: r05, match: {tool: refund, not: {args.currency.in: [EUR, USD]}}, decision: deny, reason: another currency}
  - {id: r06, match: {tool.in: [read, write], args.path.contains: '..'}, decision: deny, reason: leaves its directory}
  - {id: r07, match: {tool: read, any_of: [{args.path.ends_with: .pem}, {args.path.ends_with: .env}]}, decision: deny, reason: a secret}
  - {id: r08, match: {tool: write, not: {any_of: [{args.path.starts_with: /srv/}, {args.path.starts_with: /tmp/}]}}, decision: deny, reason: outside}
  - {id: r09, match: {tool: mail, not: {args.to.all: {ends_with: '@example.com'}}}, decision: approve_required, approvers: [comms], timeout_seconds: 1800, reason: mail to strangers}
  - {id: r10, match: {tool: mail, args.to.length: {gt: 20}}, decision: deny, reason: too many recipients}
  - {id: r11, match: {tool: mail, args.bcc.exists: true}, decision: deny, reason: a blind copy}
  - {id: r12, match: {tool: query, args.sql.matches: '(?i)\bdrop\s+table\b'}, decision: deny, reason: structure stays}
  - {id: r13, match: {tool: query, context.environment: prod, not: {args.sql.matches: '(?i)^select'}}, decision: approve_required, approvers: [dba], timeout_seconds: 1800, reason: a write in prod}
  - {id: r14, match: {tool: deploy, context.environment: prod, not: {context.principal.kind: service}}, decision: deny, reason: not in prod}
  - {id: r15, match: {tool: deploy, args.version.in: ['1.0', '1.1', '1.2']}, decision: deny, reason: an old version}
  - {id: r16, match: {declared.blast_radius_hint.exists: true, not: {declared.blast_radius_hint: null}, declared.blast_radius_hint.gt: 100}, decision: approve_required, approvers: [sre], timeout_seconds: 1800, reason: touches much}
  - {id: r17, match: {tool: fetch, not: {args.url.starts_with: 'https://'}}, decision: deny, reason: not https}
  - {id: r18, match: {context.step_seq.gt: 50, declared.cost: high}, decision: deny, reason: too late in the run}
  - {id: r19, match: {tool: ticket, not: {args.owner.eq: {ref: context.principal.id}}}, decision: deny, reason: the ticket of another}
  - {id: r20, match: {tool: ticket, args.priority.between: [1, 2], args.state: closed}, decision: approve_required, approvers: [desk], timeout_seconds: 1800, reason: closes an urgent ticket}
"""  # noqa: E501 - a rule, a line


def json_calls() -> list[dict[str, Any]]:
    """Calls that most rules let pass, as most calls are."""
    rng = random.Random(7)
    made = []
    for _ in range(CALLS):
        tool = rng.choice(["shell", "refund", "read", "write", "mail", "query", "deploy", "fetch", "ticket", "search"])
        every: dict[str, dict[str, Any]] = {
            "shell": {"cmd": rng.choice(["ls -l", "git push", "rm -r x", "git push --force"])},
            "refund": {"amount": rng.choice([5, 50, 499.5, 600]), "currency": rng.choice(["EUR", "EUR", "GBP"])},
            "read": {"path": rng.choice(["/srv/a/b.txt", "/srv/../x", "/srv/key.pem"])},
            "write": {"path": rng.choice(["/srv/a", "/tmp/b", "/etc/passwd"]), "text": "x" * 40},
            "mail": {"to": rng.choice([["a@example.com"], ["a@example.com", "x@else.test"]]), "text": "hello"},
            "query": {"sql": rng.choice(["select * from orders where id = 5", "drop table x", "delete from t"])},
            "deploy": {"version": rng.choice(["1.1", "2.0", "2.1"])},
            "fetch": {"url": rng.choice(["https://example.com/a", "http://example.com/a"])},
            "ticket": {"owner": rng.choice(["alice", "bob"]), "priority": rng.randrange(1, 5), "state": "closed"},
            "search": {"words": "policy engines"},
        }
        context = {"principal": {"kind": "user", "id": "alice"}, "environment": rng.choice(["dev", "prod"])}
        made.append({"tool": tool, "args": every[tool], "context": context})
    return made


def calls() -> list[bobcat.ActionRequest]:
    """The same as requests."""
    return [request_from_json(call) for call in json_calls()]


def begins(word: str) -> Rule:
    """A rule on the beginning of a command in lower case."""
    return lambda req, ctx: deny("no") if req.tool == "shell" and req.args["cmd"].lower().startswith(word) else None


def contains(word: str) -> Rule:
    """A rule on a part of a command in lower case."""
    return lambda req, ctx: deny("no") if req.tool == "shell" and word in req.args["cmd"].lower() else None


def matches(pattern: re.Pattern[str]) -> Rule:
    """A rule on a pattern in a command."""
    return lambda req, ctx: deny("no") if req.tool == "shell" and pattern.search(req.args["cmd"]) else None


def text_rules() -> tuple[tuple[Rule, ...], str]:
    """Fifty rules on the text of one tool, and the same in YAML: half of them in lower case, half by a pattern."""
    rules: list[Rule] = []
    lines: list[str] = []

    def add(rule: Rule, condition: str) -> None:
        rule.__name__ = f"t{len(rules):02}"
        rules.append(rule)
        lines.append(f"  - {{id: {rule.__name__}, match: {{tool: shell, {condition}}}, decision: deny, reason: no}}")

    for number in range(25):
        word, pattern = f"tool-{number} ", re.compile(rf"(?i)\b(drop|truncate)\s+table\s+t{number}\b")
        if number % 2:
            add(begins(word), f"args.cmd.lower: {{starts_with: '{word}'}}")
        else:
            add(contains(word), f"args.cmd.lower: {{contains: '{word}'}}")
        add(matches(pattern), f"args.cmd.matches: '{pattern.pattern}'")
    return tuple(rules), "rules:\n" + "\n".join(lines)


def text_calls() -> list[bobcat.ActionRequest]:
    """Commands, one in ten of which a rule denies."""
    rng = random.Random(11)
    plain = ("git log --oneline -n 20 -- src/main.py", "ls -la /srv/data", "psql -c 'SELECT 1 FROM t7'", "Make All")
    odd = ("Tool-7 --now", "sudo TOOL-12 x", "psql -c 'DROP  TABLE t9'", "truncate table T13")
    return [
        request_from_json({"tool": "shell", "args": {"cmd": rng.choice(odd if rng.random() < 0.1 else plain)}})
        for _ in range(CALLS)
    ]


def hosted(rules: tuple[Rule, ...]) -> PolicyBundle:
    """The rules as callables."""
    codes = [host_code(rule) for rule in rules]
    nodes = [HostRule(code.name, 0, code.module, code.qualname, code.digest) for code in codes]
    return PolicyBundle.from_policy(construct.policy(nodes), host_rules=rules)


def measure() -> dict[str, Any]:
    """The figures."""
    rules, text = text_rules()
    few = timed({"host": RULES, "compiled": RULES, "yaml": YAML}, calls())
    return {
        "python": platform.python_version(),
        "rules": len(RULES),
        "calls": CALLS,
        **few,
        "texts": {"rules": len(rules), **timed({"host": rules, "compiled": rules, "yaml": text}, text_calls())},
        **compiling(),
    }


def timed(written: dict[str, Any], requests: list[bobcat.ActionRequest]) -> dict[str, Any]:
    """The figures of one policy written in three ways."""
    ways = {
        "host": hosted(written["host"]),
        "compiled": compile_policy("rules: []", python_rules=written["compiled"]),
        "yaml": compile_policy(written["yaml"]),
    }
    decided = {name: [bundle.evaluate(request) for request in requests] for name, bundle in ways.items()}
    for name, decisions in decided.items():
        for request, one, other in zip(requests, decided["host"], decisions, strict=True):
            assert one == other, (name, request, one, other)
    rounds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, bundle in ways.items():
            decide = bundle.evaluate
            start = time.perf_counter()
            for request in requests:
                decide(request)
            rounds[name].append((time.perf_counter() - start) / len(requests))
    figures = {name: min(values) for name, values in rounds.items()}
    ratio = {
        "host / compiled": figures["host"] / figures["compiled"],
        "compiled / yaml": figures["compiled"] / figures["yaml"],
    }
    return {
        "fired": sum(bool(item.matched_rules) and "<" not in item.matched_rules[0] for item in decided["host"]),
        "nanoseconds_per_decision": {name: round(value * 1e9) for name, value in figures.items()},
        "ratios": {name: round(value, 2) for name, value in ratio.items()},
    }


def compiling() -> dict[str, Any]:
    """The compiled fraction of the corpus, and the time of a function."""
    from pyrules.rules import corpus  # type: ignore[import-not-found]  # a module of the tests

    rules = {**corpus(), **{rule.__name__: rule for rule in RULES}}
    for name, rule in rules.items():
        lower_function(rule, name, 0)  # reads and parses the files
    taken, share = [], 0
    for name, rule in rules.items():
        best = float("inf")
        for _ in range(COMPILED):
            start = time.perf_counter()
            lowered = lower_function(rule, name, 0)
            best = min(best, time.perf_counter() - start)
        taken.append(best)
        share += name in corpus() and lowered.rule is not None
    return {
        "corpus": len(corpus()),
        "corpus_compiled": share,
        "milliseconds_per_function": round(statistics.median(taken) * 1e3, 2),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure()
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for rules, part in ((figures["rules"], figures), (figures["texts"]["rules"], figures["texts"])):
        print(f"{rules} rules:")
        for name, value in part["nanoseconds_per_decision"].items():
            print(f"  {name:10} {value:>8,} ns per decision")
        for name, value in part["ratios"].items():
            print(f"  {name:16} {value}")
    print(f"{figures['corpus_compiled']} of {figures['corpus']} rules of the corpus are compiled")
    print(f"{figures['milliseconds_per_function']} ms to compile a function")


if __name__ == "__main__":
    main()
