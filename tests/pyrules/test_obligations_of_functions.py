"""Decisions of compiled functions have the obligations that CPython gives them, as constants of the policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bobcat import Decision, Guard, Obligation, Policy, Request, Verdict, evaluate, tool
from bobcat._core import CoreError, Program, evaluate_json
from bobcat.errors import PolicyCompileError
from bobcat.ir.visit import all_obligations
from bobcat.runtime.obligations import redacted_by

AUDIT = Obligation("audit", {"levels": (1, 2)}, "after")
BOTH = (AUDIT, Obligation("redact", ["args.card"]))


def pays(request: Any, context: Any) -> Any:
    if request.tool == "pay":
        return Decision(Verdict.ALLOW, "fine", obligations=(Obligation("notify", "treasury", phase="after"), AUDIT))
    if request.tool == "show":
        return Decision(Verdict.ALLOW, request.args["why"], obligations=BOTH)
    if request.tool == "move":
        return Decision(Verdict.TRANSFORM, transform_args={"to": "b"}, obligations=[Obligation("page", value=None)])
    if request.tool == "ask":
        return Decision(Verdict.APPROVE_REQUIRED, approvers=("ann",), obligations=(Obligation("tag", {"a": 1}),))
    if request.tool == "no":
        return Decision(Verdict.DENY, "no", obligations=[Obligation("page", {"who": ["ann"]})])
    return Decision(Verdict.DRY_RUN, obligations=()) if request.tool == "preview" else None


def compiled(function: Any) -> Policy:
    return Policy.compile({"rules": []}, python_rules=[function])


def plain(value: Any) -> Any:
    """Tuples are lists in a policy, and paths of `redact` are steps."""
    return [plain(item) for item in value] if isinstance(value, list | tuple) else (
        {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value
    )  # fmt: skip


@pytest.mark.parametrize("name", ["pay", "show", "move", "ask", "no", "preview", "other"])
def test_a_compiled_function_gives_the_obligations_of_python(name: str) -> None:
    policy = compiled(pays)
    request = Request(name, {"why": "because", "to": "a"})
    expected = pays(request, request.context)
    wanted = () if expected is None else expected.obligations
    for stored in (policy, Policy.load(policy.to_bytes())):
        for found in (evaluate(stored, request), stored.explain(request).decision):
            assert [(each.name, each.phase) for each in found.obligations] == [
                (each.name, each.phase) for each in wanted
            ]
            for own, other in zip(found.obligations, wanted, strict=True):
                assert own.name == "redact" or plain(own.value) == plain(other.value)


def test_redacted_paths_are_those_of_the_policy() -> None:
    assert redacted_by(compiled(pays)) == (("args", "card"),)
    assert {each.name for each in all_obligations(compiled(pays).ir.rules)} == {
        "notify", "audit", "redact", "page", "tag"
    }  # fmt: skip


def test_a_guard_performs_them(tmp_path: Path) -> None:
    done: list[Any] = []

    @tool
    async def pay() -> str:
        done.append("paid")
        return "ok"

    def note(obligation: Obligation, call: Any) -> None:
        done.append((obligation.name, obligation.value))

    policy = compiled(pays)
    with Guard(policy, [pay], obligations={"notify": note, "audit": note}) as guard:
        assert guard.submit_sync("pay", {}).ok
    assert done == ["paid", ("notify", "treasury"), ("audit", {"levels": [1, 2]})]


def test_functions_without_obligations_keep_their_bytes() -> None:
    def before(request: Any, context: Any) -> Any:
        return Decision(Verdict.ALLOW, "x") if request.tool == "pay" else None

    assert b"obligations" not in compiled(before).ir_bytes


def refused(source: str) -> str:
    import linecache

    text = (
        "from bobcat import Decision, Obligation, Verdict\nNAMES = ['a']\n\n"
        "def bad(request, context):\n    if request.tool == 'x':\n"
        f"        return Decision(Verdict.ALLOW, obligations={source})\n    return None\n"
    )
    name = f"<rules {hash(source)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    with pytest.raises(PolicyCompileError) as caught:
        compiled(space["bad"])
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("(Obligation('notify', request.args['who']),)", "only known at run time"),
        ("(Obligation(request.tool, 1),)", "only known at run time"),
        ("request.args['all']", "only known at run time"),
        ("(Obligation('Notify', 'x'),)", "gives an obligation the name 'Notify'"),
        ("(Obligation('rate_limit', {'max': 1}),)", "gives a decision the obligation `rate_limit`"),
        ("(Obligation('require_reason', True),)", "write that rule in YAML"),
        ("(Obligation('redact', ['card']),)", "is not a path below args or result"),
        ("(Obligation('redact', []),)", "names no path"),
        ("(Obligation('redact', ['args.card'], 'after'),)", "the phase 'after'"),
        ("(Obligation('tag', 'x'),)", "is no mapping of names"),
        ("(Obligation('notify'),)", "names no person, group or channel"),
        ("(Obligation('page', 1, 'during'),)", "the phase 'during'"),
        ("(Obligation('page', {1, 2}),)", "gives the obligation `page` no JSON"),
        ("(Obligation('page', float('inf')),)", "only known at run time"),
        ("(Obligation('page', 1, nme=3),)", "passes an obligation other arguments"),
        ("(Obligation(value=1),)", "makes an obligation without a name"),
        ("('notify',)", "only known at run time"),
        ("NAMES", "gives a decision `str` as an obligation"),
        ("(Obligation('a'), ) * 2", "only known at run time"),
        (f"({', '.join(['Obligation(chr(97))'] * 3)})", "only known at run time"),
        (f"({', '.join(['Obligation(' + repr('a') + ')'] * 17)},)", "17 obligations"),
    ],
)
def test_other_obligations_than_constants_are_errors_with_their_place(source: str, problem: str) -> None:
    text = refused(source)
    assert problem in text, text
    assert "error[E0807]" in text


TEAM = """
rules:
  - {id: look, priority: 2, match: {tool: show}, decision: allow, obligations: [{notify: oncall}]}
  - {id: ask, priority: 2, match: {tool: ask}, decision: approve_required, approvers: [ann, bob],
     obligations: [{tag: {b: "2"}}]}
  - {id: rest, match: {}, decision: allow, obligations: [{notify: team}]}
"""


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("name", ["pay", "show", "move", "ask", "no", "preview", "other"])
def test_a_layer_adds_the_obligations_of_its_functions(name: str, below: bool) -> None:
    layers = {"org": compiled(pays), "team": Policy.compile(TEAM)}
    policy = Policy.layered(dict(reversed(layers.items())) if below else layers)
    request = Request(name, {"why": "because", "to": "a"})
    alone = [evaluate(layer, request) for layer in layers.values()]
    denied = [each for each in alone if each.verdict == "deny"]
    wanted = [shown(each) for decision in denied[:1] or alone for each in decision.obligations]
    for stored in (policy, Policy.load(policy.to_bytes())):
        (from_json,) = evaluate_json(stored, json.dumps({"tool": name, "args": dict(request.args)}).encode())
        for found in (evaluate(stored, request), stored.explain(request).decision, from_json):
            assert sorted(map(shown, found.obligations)) == sorted(wanted), name


def shown(obligation: Obligation) -> str:
    return f"{obligation.name} {obligation.phase} {plain(obligation.value)}"


def watched(request: Any, context: Any) -> Any:
    """Oblige a call and the call that a lower layer makes of it to different things."""
    if request.args["to"] == "b":
        return Decision(Verdict.ALLOW, obligations=(Obligation("page", 2),))
    return Decision(Verdict.ALLOW, obligations=(Obligation("page", 1),))


def test_both_decisions_of_a_function_on_a_rewritten_call_have_their_obligations() -> None:
    rewrite = Policy.compile(
        "rules: [{id: to, match: {args.to: a}, decision: transform, transform: {jsonpath: $.args.to, set: b}}, "
        "{id: rest, match: {}, decision: allow}]"
    )
    found = evaluate(Policy.layered({"org": compiled(watched), "team": rewrite}), Request("move", {"to": "a"}))
    assert (found.verdict, found.transform_args) == ("transform", {"to": "b"})
    assert [each.value for each in found.obligations] == [1, 2]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"phase":"after"', b'"phase":"later"'),
        (b'"name":"notify"', b'"name":""'),
        (b'"obligations":[{', b'"obligations":[[{'),
    ],
)
def test_hostile_obligations_are_refused(old: bytes, new: bytes) -> None:
    ir = compiled(pays).ir_bytes
    assert old in ir
    with pytest.raises(CoreError) as caught:
        Program(ir.replace(old, new, 1))
    assert caught.value.code in ("bad_ir", "ir_syntax")


@pytest.mark.parametrize("value", ["args.card", ["args.card"], [["args", "card"]], ("args.card",)])
def test_a_callable_may_write_paths_as_texts(value: Any) -> None:
    from bobcat.model.masking import redacted_paths

    assert redacted_paths([Obligation("redact", value)]) == (("args", "card"),)


@pytest.mark.parametrize("value", [None, 4, "card", [["card"]], [None], ["args['a.b']"], []])
def test_everything_is_redacted_for_a_value_without_paths(value: Any) -> None:
    from bobcat.model.masking import redacted_paths

    assert set(redacted_paths([Obligation("redact", value)])) == (set() if value == [] else {("args",), ("result",)})
