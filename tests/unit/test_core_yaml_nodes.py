"""Composition of YAML nodes in the core: limits, aliases, positions, and nodes that Python creates."""

from __future__ import annotations

import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat._core import CollectionNode, MappingNode, Mark, Node, ScalarNode, SequenceNode, YamlError, compose_yaml
from bobcat.frontend.yaml.scalars import CONSTANT_STYLE, WORDS, scalar_value


def composed(text: str) -> Any:
    root, second = compose_yaml(text, 64, 1_000)
    assert second is None
    return root


def refused(text: str, *, depth: int = 64, nodes: int = 1_000) -> tuple[Any, ...]:
    with pytest.raises(YamlError) as raised:
        compose_yaml(text, depth, nodes)
    return raised.value.args


def test_a_document_is_a_tree_of_nodes() -> None:
    root = composed("a: [1, 'x']\n")
    assert type(root) is MappingNode
    ((key, items),) = root.value
    assert (type(key), key.value, key.style) == (ScalarNode, "a", "")
    assert type(items) is SequenceNode
    assert isinstance(items, CollectionNode)
    assert isinstance(items, Node)
    assert items.flow_style is True
    assert root.flow_style is False
    assert [(item.value, item.style) for item in items.value] == [("1", ""), ("x", "'")]


def test_an_empty_text_has_no_document() -> None:
    assert compose_yaml("# nothing\n", 64, 10) == (None, None)


def test_the_second_document_is_composed_and_the_third_one_is_not_read() -> None:
    first, second = compose_yaml("a\n--- b\n--- {\n", 64, 10)
    assert (first.value, second.value) == ("a", "b")  # type: ignore[union-attr]  # both exist


def test_only_written_tags_are_tags() -> None:
    root = composed("- 1\n- ! 1\n- !!str 1\n- !x [1]\n")
    assert [item.tag for item in root.value] == ["", "", "tag:yaml.org,2002:str", "!x"]


def test_an_alias_is_the_node_of_its_anchor() -> None:
    root = composed("- &a {b: 1}\n- *a\n- &c text\n- *c\n")
    assert root.value[0] is root.value[1]
    assert root.value[2] is root.value[3]


def test_an_anchor_holds_in_one_document() -> None:
    assert refused("&a 1\n--- *a\n") == ("syntax", "found undefined alias", (1, 4))
    first, second = compose_yaml("&a 1\n--- &a 2\n", 64, 10)
    assert (first.value, second.value) == ("1", "2")  # type: ignore[union-attr]  # both exist


def test_an_anchor_is_defined_once() -> None:
    assert refused("- &a 1\n- &a 2\n") == ("syntax", "the anchor is defined twice", (1, 2))


@pytest.mark.parametrize(
    ("text", "place"), [("a: &x\n  - *x\n", (0, 3)), ("&x [*x]", (0, 0)), ("- &x {a: {b: *x}}", (0, 2))]
)
def test_a_value_that_contains_itself_is_refused_at_its_anchor(text: str, place: tuple[int, int]) -> None:
    assert refused(text) == ("recursive", "", place)


def test_the_first_level_too_deep_is_refused_at_the_value_around_it() -> None:
    assert composed("[[1]]").value[0].value[0].value == "1"
    compose_yaml("[[1]]", 3, 10)
    assert refused("[ [1]]", depth=2) == ("depth", "", (0, 2))
    assert refused("a: 1", depth=1) == ("depth", "", (0, 0))
    assert refused("1", depth=0) == ("depth", "", None)


def test_the_first_value_too_many_is_refused_at_the_value_around_it() -> None:
    compose_yaml("[1, 2]", 64, 3)
    assert refused("[1, 2]", nodes=2) == ("count", "", (0, 0))
    assert refused("1", nodes=0) == ("count", "", None)
    compose_yaml("[&a 1, *a, *a]", 64, 2)
    assert refused("1\n--- 2", nodes=1) == ("count", "", None)


def test_a_problem_has_its_position_unless_it_is_the_end() -> None:
    assert refused("a: @") == ("syntax", "found character that cannot start any token", (0, 3))
    assert refused("a: [1,\n") == ("syntax", "did not find expected node content", None)


def test_a_character_that_yaml_does_not_have_is_named() -> None:
    assert refused("a\x00") == ("character", "unacceptable character #x0000: control characters are not allowed", None)


def test_a_tag_that_is_not_utf_8_is_refused_where_it_is() -> None:
    assert refused("a:\n  - !x%ED%A0%80 1\n") == ("syntax", "the tag is not UTF-8", (1, 4))
    assert composed("!x%C3%A9 1").tag == "!xé"


def test_a_long_tag_is_refused() -> None:
    assert composed(f"!{'x' * 1_023} 1").tag == f"!{'x' * 1_023}"
    assert refused(f"a: !{'x' * 1_024} 1") == ("syntax", "the tag is too long", (0, 3))


def test_a_tag_of_a_long_prefix_is_refused() -> None:
    assert refused(f"%TAG !a! {'x' * 2_000}\n--- \n- !a!b c\n")[1] == "the tag is too long"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u0085", "\u2028"])
def test_very_many_directives_are_refused(end: str) -> None:
    few, many = ("".join(f"%TAG !a{n}! x{end}" for n in range(count)) + f"--- 1{end}" for count in (100, 101))
    assert composed(few).value == "1"
    assert refused(many)[:2] == ("syntax", "there are too many %TAG directives")
    assert refused(many)[2] == ((100, 0) if "\n" in end else (0, len(many[: many.rfind("%")])))
    assert composed("- %TAG\n".replace("%", "x%") * 101).value


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_very_long_row_of_spaces_is_refused(blank: str) -> None:
    assert composed(f"'a{blank * 10_000}b'").value == f"a{blank * 10_000}b"
    assert refused(f"# é\n'é{blank * 10_001}b'") == ("syntax", "there are too many spaces in a row", (1, 10_002))


def test_a_lone_surrogate_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        compose_yaml("\ud800", 64, 10)


def test_marks_count_characters() -> None:
    key, item = composed("日本: 'é'\n").value[0]
    assert key.end_mark == Mark(0, 2)
    assert (item.start_mark.line, item.start_mark.column) == (0, 4)
    assert item.end_mark == Mark(0, 7)


def test_a_collection_ends_with_its_last_value() -> None:
    root = composed("a:\n  - x\n  - y: z\n\n# end\nb: 1\n")
    assert root.value[0][1].end() == Mark(2, 8)
    assert root.position_to(root) == (1, 1, 6, 5)
    assert root.value[0][0].position_to(root.value[0][1]) == (1, 1, 3, 9)
    assert composed("[]").end() == Mark(0, 2)
    assert composed("[a,\n b]\n").end() == Mark(1, 3)


def test_an_alias_at_the_end_does_not_end_a_collection_before_its_start() -> None:
    root = composed("a: &x text\nb:\n  - *x\n")
    (_, first), (key, items) = root.value
    assert items.end() == items.end_mark
    assert key.position_to(items)[2:] == (items.end_mark.line + 1, items.end_mark.column + 1)
    assert key.position_to(first) == (2, 1, 2, 2)


def test_a_node_of_python_has_the_marks_that_it_is_given() -> None:
    mark = SimpleNamespace(line=4, column=2, file="other.yaml")
    node = ScalarNode("", 7, mark, Mark(4, 9), "const")
    assert (node.value, node.style, node.start_mark) == (7, "const", mark)
    around = MappingNode("", [(node, node)], mark, mark)
    assert around.end() == Mark(4, 9)
    assert around.position_to(around) == (5, 3, 5, 10)
    assert MappingNode("", [(node, node)], mark, mark, flow_style=True).end() is mark


def test_a_mark_of_the_largest_line_does_not_overflow() -> None:
    node = ScalarNode("", "x", Mark(2**63 - 1, 0), Mark(2**63 - 1, 0))
    assert node.position_to(node)[0] == 2**63 - 1


def test_a_mark_before_a_text_is_kept() -> None:
    mark = Mark(-1, -1)
    node = SequenceNode("", [], mark, mark)
    assert node.start_mark == mark
    assert node.position_to(node) == (0, 0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGALRM")
def test_a_value_of_python_that_contains_itself_can_be_interrupted() -> None:
    class Late(Exception):
        pass

    def stop(*_: object) -> None:
        raise Late

    items: list[Any] = []
    node = SequenceNode("", items, Mark(0, 0), Mark(0, 0))
    items.append(node)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Late):
            node.end()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        items.clear()


@pytest.mark.parametrize("value", [[(1, 2)], [()], ["text"]])
def test_items_that_are_no_nodes_are_an_error(value: list[Any]) -> None:
    with pytest.raises((TypeError, IndexError)):
        MappingNode("", value, Mark(0, 0), Mark(0, 0)).end()


def test_a_mark_without_a_line_is_an_error() -> None:
    with pytest.raises(AttributeError):
        ScalarNode("", "x", object(), object()).position_to(ScalarNode("", "x", Mark(0, 0), Mark(0, 0)))


@pytest.mark.parametrize("make", [Node, CollectionNode])
def test_the_bases_are_not_made(make: Any) -> None:
    with pytest.raises(TypeError):
        make("", "x", Mark(0, 0), Mark(0, 0))


PLAIN = (
    *(word for word in WORDS if not word.isdigit()), "nULL", "nothing", "tRUE", "tool-1", "fALSE", "file", "0", "7",
    "1_000", "-1", "+1", "-x", ".5", ".nan", "-.inf", ".hidden", "1.5e3", "0x1f", "no", "on", "x", "/srv", "<<", "äöü",
    "日本",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_text_is_the_string_of_a_plain_scalar_that_is_one_by_its_start(text: str) -> None:
    node = ScalarNode("", text, Mark(0, 0), Mark(0, len(text)), "")
    value = scalar_value(node)
    by_start = isinstance(value, str) and text[0] not in "0123456789+-."
    assert node.text == (value if by_start else None)


@given(st.text("0123456789+-._~:eExXoOaAnNuUlLtTrRfFsSiI <", max_size=8))
def test_text_is_the_value_of_a_plain_scalar(text: str) -> None:
    node = ScalarNode("", text, Mark(0, 0), Mark(0, len(text)), "")
    value = scalar_value(node)
    assert node.text in (None, value)
    assert node.text is not None or not isinstance(value, str) or text[0] in "0123456789+-."


@pytest.mark.parametrize("style", ["'", '"', "|", ">", CONSTANT_STYLE])
@pytest.mark.parametrize("text", PLAIN)
def test_text_is_the_string_of_a_scalar_in_quotes(text: str, style: str) -> None:
    assert ScalarNode("", text, Mark(0, 0), Mark(0, 0), style).text == text


def test_text_is_none_for_anything_but_a_string_within_the_limit() -> None:
    def scalar(value: object) -> ScalarNode:
        return ScalarNode("", value, Mark(0, 0), Mark(0, 0), CONSTANT_STYLE)

    for value in (None, 1, 1.5, True, ["x"], "\ud800"):
        assert scalar(value).text is None
    assert [scalar("ä" * length).text is None for length in (512 * 1024, 512 * 1024 + 1)] == [False, True]
    assert composed("[a]").text is None
    assert composed("{a: b}").text is None


def test_by_key_has_the_pairs_of_known_keys_in_order() -> None:
    node = composed("{b: 1, a: [2], 'c': x}")
    found = node.by_key({"a", "b", "c", "d"})
    assert list(found.items()) == [(pair[0].value, pair) for pair in node.value]
    assert composed("{}").by_key({"a"}) == {}


@pytest.mark.parametrize(
    "text", ["{a: 1, x: 2}", "{a: 1, b: 2, a: 3}", "{a: 1, [b]: 2}", "{a: 1, {b: c}: 2}", "{1: a}"]
)
def test_by_key_is_none_for_unknown_repeated_and_composite_keys(text: str) -> None:
    assert composed(text).by_key({"a", "b", "c"}) is None


def test_by_key_refuses_items_other_than_pairs_of_nodes() -> None:
    for value in ([1], [("a", "b")], [()]):
        with pytest.raises((TypeError, IndexError)):
            MappingNode("", value, Mark(0, 0), Mark(0, 0)).by_key({"a"})
