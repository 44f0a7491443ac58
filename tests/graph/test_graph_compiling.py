"""The language of handoff graphs: what compiles, what is refused, and where the error says it is."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bobcat
from bobcat import GraphCompileError, PolicyWarning, compile_graph, load_graph_file
from bobcat.graph.findings import GRAPH_CODES, WARNINGS
from bobcat.graph.model import Edge
from bobcat.graph.pattern import TextPattern

ONE = "edges: [{from: a, to: b}]\n"

# Code, text, message, help, line and column of the first finding.
REFUSED = [
    ("G01", "- a\n", "graph file must be a mapping with 'start' and 'edges'", None, (1, 1)),
    ("G02", "start: a\nmax_transition: 3\n" + ONE,
     "unknown keys ['max_transition']; allowed: version, start, max_transitions, edges",
     "did you mean `max_transitions`?", (2, 1)),
    ("G03", "version: 2\nstart: a\n" + ONE, "'version' must be 1", "leave it out, or write `version: 1`", (1, 10)),
    ("G03", "version: true\nstart: a\n" + ONE, "'version' must be 1", "leave it out, or write `version: 1`", (1, 10)),
    ("G04", ONE, "'start' is required and must be a node name", None, (1, 1)),
    ("G04", "start: 5\n" + ONE, "'start' is required and must be a node name", None, (1, 8)),
    ("G05", "start: done\n" + ONE, "'start' cannot be the reserved terminal 'done'", None, (1, 8)),
    ("G06", "start: bb\n" + ONE, "'start' is `bb`, which no edge names", "did you mean `b`?", (1, 8)),
    ("G07", "start: a\nmax_transitions: 0\n" + ONE, "'max_transitions' must be a positive integer", None, (2, 18)),
    ("G07", "start: a\nmax_transitions: true\n" + ONE, "'max_transitions' must be a positive integer", None, (2, 18)),
    ("G07", "start: a\nmax_transitions: '3'\n" + ONE, "'max_transitions' must be a positive integer", None, (2, 18)),
    ("G08", "start: a\n", "'edges' is required and must be a non-empty list", "put `- ` before each edge", (1, 1)),
    ("G08", "start: a\nedges: {from: a}\n", "'edges' is required and must be a non-empty list",
     "put `- ` before each edge", (2, 8)),
    ("G09", "start: a\nedges: [a]\n", "edges[0]: each edge must be a mapping", "write `- {from: a, to: b}`", (2, 9)),
    ("G10", "start: a\nedges:\n- {from: a, too: b, to: c}\n",
     "edges[0]: unknown keys ['too']; allowed: from, to, when", "did you mean `to`?", (3, 13)),
    ("G11", "start: a\nedges: [{from: a}]\n", "edges[0]: 'to' is required",
     "it is the name of a node; numbers are quoted", (2, 9)),
    ("G11", "start: a\nedges: [{from: 1, to: b}]\n", "edges[0]: 'from' is required",
     "it is the name of a node; numbers are quoted", (2, 16)),
    ("G12", "start: a\nedges: [{from: done, to: a}]\n", "edges[0]: cannot route FROM the terminal 'done'", None,
     (2, 16)),
    ("G13", "start: a\nedges: [{from: a, to: b, when: failed}]\n", "edges[0]: 'when' must be a mapping",
     "leave `when` out of an edge that is always taken", (2, 32)),
    ("G13", "start: a\nedges:\n- from: a\n  to: b\n  when:\n", "edges[0]: 'when' must be a mapping",
     "leave `when` out of an edge that is always taken", (5, 8)),
    ("G14", "start: a\nedges: [{from: a, to: b, when: {denial_gt: 2}}]\n",
     "edges[0]: unknown predicate(s) ['denial_gt']; allowed: "
     "['answer_is', 'answer_matches', 'denials_gt', 'error_matches', 'status', 'steps_gt']",
     "did you mean `denials_gt`?", (2, 33)),
    ("G15", "start: a\nedges: [{from: a, to: b, when: {status: ok}}]\n",
     "edges[0]: status must be one of ['failed', 'succeeded']", "did you mean `succeeded`?", (2, 41)),
    ("G15", "start: a\nedges: [{from: a, to: b, when: {status: [failed]}}]\n",
     "edges[0]: status must be one of ['failed', 'succeeded']", None, (2, 41)),
    ("G16", "start: a\nedges: [{from: a, to: b, when: {answer_matches: 5}}]\n",
     "edges[0]: a pattern must be a string", "quote it", (2, 49)),
    ("G17", "start: a\nedges: [{from: a, to: b, when: {steps_gt: true}}]\n", "edges[0]: steps_gt must be an integer",
     "it is at least 0, and not quoted", (2, 43)),
    ("G17", "start: a\nedges: [{from: a, to: b, when: {denials_gt: -1}}]\n",
     "edges[0]: denials_gt must be an integer", "it is at least 0, and not quoted", (2, 45)),
    ("G18", "start: a\nedges:\n- {from: a, to: b}\n- {from: a, when: {status: failed}, to: c}\n",
     "edges[1]: never taken: edges[0] takes every outcome of `a`",
     "the first edge that matches is taken: move the one without `when` to the end", (4, 3)),
    *(
        ("G19", f"start: a\nedges: [{{from: a, to: b, when: {{answer_is: {text}}}}}]\n",
         "edges[0]: answer_is must be a text, or a list of texts, without white space around it",
         "quote it; an answer is compared without the white space around it", (2, 44 + at))
        for text, at in [("5", 0), ("''", 0), ("' yes'", 0), ("[yes, true]", 6), ("[]", 0), ("{a: b}", 0), ("[[a]]", 1)]
    ),
]  # fmt: skip


def refusal(text: str) -> GraphCompileError:
    with pytest.raises(GraphCompileError) as caught:
        compile_graph(text, "flow.yaml")
    return caught.value


@pytest.mark.parametrize(("code", "text", "message", "help", "place"), REFUSED)
# lynx-agent defect 72
def test_a_mistake_is_refused_with_its_place(
    code: str, text: str, message: str, help: str | None, place: tuple[int, int]
) -> None:
    error = refusal(text)
    found = error.diagnostics[0]
    assert (found.code, found.message, found.help) == (code, message, help)
    assert found.span is not None
    assert (found.span.line, found.span.column) == place
    assert f"error[{code}]: {message}\n" in str(error)
    assert f"--> flow.yaml:{place[0]}:{place[1]}\n" in str(error)


def test_every_code_of_a_graph_has_an_example_and_is_documented() -> None:
    assert {code for code, *_ in REFUSED} | WARNINGS == set(GRAPH_CODES)
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "handoff-graphs.md"
    text = guide.read_text()
    assert [code for code in GRAPH_CODES if f"`{code}`" not in text] == []


@pytest.mark.parametrize("pattern", ["approved", "(?i)approved", "^approved", "approved$", "^no|yes$", "^(a|b$)", ".*"])
def test_a_pattern_that_is_found_inside_an_answer_is_warned_of(pattern: str) -> None:
    text = f"start: a\nedges:\n- {{from: a, when: {{answer_matches: '{pattern}'}}, to: b}}\n"
    with pytest.warns(PolicyWarning, match=r"warning\[G20\]") as caught:
        spec = compile_graph(text, "flow.yaml")
    assert len(caught) == 1
    assert "--> flow.yaml:3:" in str(caught[0].message)
    [found] = spec.diagnostics
    assert (found.code, found.severity) == ("G20", "warning")
    assert found.message == f"edges[0]: answer_matches `{pattern}` is found inside a longer answer, too"
    assert spec == dataclasses.replace(spec, diagnostics=())
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "when",
    ["answer_matches: '^approved$'", "answer_matches: '(?i)^(yes|ok)$'", "error_matches: budget", "answer_is: x"],
)
def test_what_holds_for_a_whole_answer_or_for_an_error_is_not_warned_of(when: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spec = compile_graph(f"start: a\nedges:\n- {{from: a, when: {{{when}}}, to: b}}\n")
    assert spec.diagnostics == ()


def test_the_lynx_profile_warns_of_no_pattern_and_knows_no_answer_is() -> None:
    edge = "start: a\nedges: [{from: a, when: {%s: approved}, to: b}]"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_graph(edge % "answer_matches", profile="lynx")
    with pytest.raises(GraphCompileError, match="unknown predicate"):
        compile_graph(edge % "answer_is", profile="lynx")


def test_all_mistakes_of_a_graph_are_reported_at_once() -> None:
    error = refusal("start: done\nmax_transitions: no\nedges: [{from: done, to: x, when: {status: ok, steps_gt: x}}]")
    assert [item.code for item in error.diagnostics] == ["G05", "G07", "G12", "G15", "G17"]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("(a", "unbalanced"), ("a(?=b)", "look_around"), (r"(a)\1", "back_reference"), ("a" * 1001, "too_long")],
)
def test_a_pattern_that_is_not_linear_is_refused(pattern: str, problem: str) -> None:
    text = f"start: a\nedges: [{{from: a, to: b, when: {{error_matches: '{pattern}'}}}}]\n"
    found = refusal(text).diagnostics
    assert found[0].code == "G16"
    assert found[0].message.startswith("edges[0]: Invalid regex `")
    assert f"({problem})" in found[0].message


@pytest.mark.parametrize(
    "text", ["start: [", "a: 1\na: 2", "start: &x [*x]", "--- a\n--- b", "start: !!str a\n", "\x00"]
)
def test_a_text_that_is_no_clean_yaml_is_refused(text: str) -> None:
    error = refusal(text)
    assert str(error).startswith("invalid YAML:")
    assert any(item.code.startswith("E01") for item in error.diagnostics)


def test_an_alias_bomb_is_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    assert refusal(bomb).diagnostics[0].code == "E0109"


def test_what_a_graph_says_is_what_the_spec_holds() -> None:
    spec = compile_graph(
        "version: 1\nstart: no\nmax_transitions: 3\nedges:\n"
        "- {from: no, when: {status: failed, error_matches: x, denials_gt: 0, steps_gt: 5}, to: on}\n"
        "- {from: on, when: {answer_matches: ^y$}, to: done}\n"
    )
    assert (spec.start, spec.max_transitions) == ("no", 3)
    assert spec.edges == (
        Edge("no", "on", "failed", None, TextPattern("x", "re2"), 0, 5),
        Edge("on", "done", answer_matches=TextPattern("^y$", "re2")),
    )
    assert compile_graph("start: a\n" + ONE).max_transitions == 12


def test_specs_can_be_compared_and_pickled() -> None:
    text = "start: a\nedges: [{from: a, to: b, when: {answer_matches: ^x+$}}]"
    spec = compile_graph(text)
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec == compile_graph("# a comment\n" + text)
    assert hash(again) == hash(spec)
    assert repr(spec.edges[0].answer_matches) == "TextPattern('^x+$', 're2')"
    assert spec != compile_graph(text.replace("x+", "x*"))
    assert TextPattern("x", "re2") != "x"


def test_an_error_can_be_pickled() -> None:
    error = refusal("- a")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.diagnostics) == (str(error), error.diagnostics)
    assert issubclass(GraphCompileError, ValueError)


def test_a_file_is_read_as_utf_8_and_named_in_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text("start: ä\nedges: [{from: ä, to: done}]", encoding="utf-8-sig")
    assert load_graph_file(path).start == "ä"
    path.write_bytes(b"start: \xff")
    with pytest.raises(GraphCompileError, match="not UTF-8 text: byte 7"):
        load_graph_file(str(path))
    with pytest.raises(FileNotFoundError):
        load_graph_file(tmp_path / "nowhere.yaml")


LAX = """
name: my flow
version: 99
start: elsewhere
edges:
  - {from: a, when: null, to: b}
  - {from: a, when: {status: null, denials_gt: -1}, to: c}
"""


def test_the_lynx_profile_takes_what_lynx_takes() -> None:
    spec = compile_graph(LAX, profile="lynx")
    assert spec.start == "elsewhere"
    assert spec.edges[0].is_unconditional()
    assert [item.code for item in refusal(LAX).diagnostics] == ["G02", "G03", "G13", "G15", "G17"]


def test_the_lynx_profile_reads_patterns_as_python_does() -> None:
    edge = "start: a\nedges: [{from: a, when: {answer_matches: '%s'}, to: b}]"
    assert compile_graph(edge % r"\d$", profile="lynx").edges[0].answer_matches == TextPattern(r"\d$", "python")
    with pytest.warns(bobcat.PolicyWarning, match="has no linear form"):
        spec = compile_graph(edge % "^(?!no)", profile="lynx")
    assert spec.edges[0].answer_matches == TextPattern("^(?!no)", "stdlib")
    with pytest.raises(
        GraphCompileError, match=r"^edges\[0\]: Regex pattern '\(a\+\)\+\$' contains a nested unbounded"
    ):
        compile_graph(edge % "(a+)+$", profile="lynx")


@given(st.text(max_size=60) | st.binary(max_size=40).map(lambda data: data.decode("latin-1")))
def test_any_text_is_a_graph_or_a_graph_compile_error(text: str) -> None:
    for source in (text, f"start: a\nedges: [{{from: a, to: b, when: {text}}}]"):
        with contextlib.suppress(GraphCompileError):
            compile_graph(source)
