"""Graph files through `bobcat.lynx`: what lynx-agent 2.5 makes of a text, in its words where it refuses."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import lynx
import pytest

import bobcat.lynx
from bobcat import GraphCompileError, PolicyWarning

ROUNDS = 1500
SCALARS = (
    "a", "b", "done", "c", "no", "on", "1", "1.5", "null", "~", "'x y'", '""', "2026-01-01", "true", "[a]", "{a: b}",
    "é", "&x a", "*x", "!!str 5", "|-\n  a",
)  # fmt: skip
WHENS = (
    "{}", "null", "5", "[]", "x", "{status: failed}", "{status: succeeded}", "{status: ok}", "{status: null}",
    "{denials_gt: 1}", "{denials_gt: true}", "{denials_gt: 1.0}", "{denials_gt: -1}", "{denials_gt: '1'}",
    "{denials_gt: null}", "{steps_gt: 017}", "{steps_gt: 1_0}", "{steps_gt: 0x10}", "{answer_matches: a}",
    "{answer_matches: '(?=a)'}", "{answer_matches: '['}", "{error_matches: ''}", "{error_matches: '(a+)+'}", "{x: 1}",
    "{status: failed}", "{steps_gt: 1}", "{answer_matches: 'a|b$'}",
    "{1: 2}", "{status: failed, status: succeeded}", '{answer_matches: "a\\nb"}', "{steps_gt: .inf}",
    "{steps_gt: 99999999999999999999}", "{status: failed, zz: 1, aa: 2}",
)  # fmt: skip
EDGES = (
    "x", "5", "null", "[]", "{}", "{from: a}", "{to: b}", "{from: a, two: b}", "{from: a, to: b, x: 1, when: {}}",
    "{<<: {from: a}, to: b}", "{from: a, to: b, 1: 2}",
)  # fmt: skip
BOUNDS = ("1", "5", "0", "-1", "null", "1.0", "true", "'3'", "010", "0b11", "1_000", "~", "[]", "1e3", "!!int '4'")
LINES = ("version: 2", "foo: bar", "start: z", "edges: []", "1: 2", "? [a]\n: b", "- x", "a: b: c", "\tx: 1", "---")


def document(draw: random.Random) -> str:
    def edge() -> str:
        if draw.random() < 0.05:
            return draw.choice(EDGES)
        names = [draw.choice("abc" if draw.random() < 0.9 else SCALARS) for _ in "ab"]
        when = f", when: {draw.choice(WHENS)}" if draw.random() < 0.5 else ""
        return f"{{from: {names[0]}, to: {names[1]}{when}}}"

    lines = [f"start: {draw.choice('abc' if draw.random() < 0.9 else SCALARS)}"] if draw.random() < 0.95 else []
    if draw.random() < 0.2:
        lines.append(f"max_transitions: {draw.choice(BOUNDS)}")
    if draw.random() < 0.1:
        lines.append(draw.choice(LINES))
    lines.append("edges:" + "".join(f"\n  - {edge()}" for _ in range(draw.randrange(1, 4))))
    return "\n".join(lines)


def routes(api: Any, text: str) -> Any:
    """The next node after each outcome of each node; or the refusal."""
    try:
        spec = api.compile_graph(text)
    except ValueError as error:
        return type(error).__name__, str(error).partition("invalid YAML")[:2]
    found: list[Any] = [spec.start, spec.max_transitions]
    for node in sorted(spec.node_names()):
        for answer, failure in ((None, None), ("a", None), ("no", None), ("a\nb", None), ("aa", "x")):
            for denials, steps in ((0, 0), (2, 20)):
                result = api.RunResult("c", "b", answer, failure, steps, None)
                found.append((node, spec(api.NodeOutcome(node, result, denials, 0))))
    return found


def test_any_graph_file_is_read_as_lynx_reads_it() -> None:
    draw = random.Random(3)
    compiled = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        for _ in range(ROUNDS):
            text = document(draw)
            found = routes(bobcat.lynx, text)
            assert found == routes(lynx, text), text
            compiled += isinstance(found, list)
    assert compiled > ROUNDS / 10


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("{status: [failed]}", "edges[0]: status must be one of ['failed', 'succeeded']"),
        ("{answer_matches: 5}", "edges[0]: a pattern must be a string"),
        ("{answer_matches: null}", "edges[0]: a pattern must be a string"),
        ("{1: 2, x: 3}", "edges[0]: unknown predicate(s) [1, 'x']"),
    ],
)
def test_what_breaks_lynx_is_refused(when: str, problem: str) -> None:
    with pytest.raises(GraphCompileError) as caught:
        bobcat.lynx.compile_graph(f"start: a\nedges: [{{from: a, to: b, when: {when}}}]")
    assert str(caught.value).startswith(problem)
    assert caught.value.diagnostics[0].message == str(caught.value)


def test_a_pattern_without_a_linear_form_is_taken_with_a_warning() -> None:
    with pytest.warns(PolicyWarning, match="no linear form"):
        spec = bobcat.lynx.compile_graph("start: a\nedges: [{from: a, to: b, when: {answer_matches: '(?=x)'}}]")
    assert spec.edges[0].dst == "b"


def test_a_file_is_read_as_its_text(tmp_path: Path) -> None:
    text = "start: a\nedges:\n  - {from: a, to: no way, when: {steps_gt: 010}}\nunknown: key\n"
    file = tmp_path / "graph.yaml"
    file.write_text(text)
    assert bobcat.lynx.load_graph_file(file) == bobcat.lynx.compile_graph(text)
    assert bobcat.lynx.load_graph_file(str(file)).edges[0].steps_gt == 8
    with pytest.raises(OSError, match="missing"):
        bobcat.lynx.load_graph_file(tmp_path / "missing.yaml")
