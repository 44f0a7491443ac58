"""Decisions of compiled functions have the obligations that CPython gives them, as constants of the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobcat import Decision, Guard, Obligation, Policy, Request, Verdict, evaluate, tool
from bobcat._core import CoreError, Program
from bobcat.errors import BundleError, PolicyCompileError
from bobcat.ir import canonical
from bobcat.ir.schema import Layer, Layers
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


def test_layers_take_no_functions_with_obligations() -> None:
    policy = compiled(pays)
    with pytest.raises(BundleError, match="the Python rule `pays`, whose decisions have obligations") as caught:
        Policy.layered({"org": policy})
    assert caught.value.code == "bad_layers"
    layers = Layers("strictest", (Layer("org", 1, policy.ir.defaults, False),))
    with pytest.raises(CoreError, match="no functions with obligations"):
        Program(canonical.encode(msgspec.structs.replace(policy.ir, layers=layers)))


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
