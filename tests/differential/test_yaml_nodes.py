"""Texts are composed as PyYAML composes them with libyaml: the same nodes, or the same problem, at the same places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from yaml.nodes import CollectionNode as PyYamlCollection
from yaml.nodes import ScalarNode as PyYamlScalar

import campaign
from bobcat import _core
from oracle.lynx_policies import as_text, policy

TEXTS = campaign.rounds(3_000)
CHUNKS = 6
PIECES = [
    *"\n\t :-#{}[],&*!|>'\"%@`?\\~.<=é日😀()^$/;0b",
    "- ", "? ", ": ", ",", "!!str ", "!x ", "!<tag:a> ", "! ", "&a ", "*a", "&b ", "*b", "<<: ", "|\n", "|+2\n", "> ",
    ">-", "''", '""', "---", "---\n", "--- ", "...\n", "%YAML 1.1\n", "%YAML 2.0\n", "%TAG ! x\n", " # c", "\n  ",
    "\n    ", "\r\n", "\r", "\u00a0", "\u0085", "\u2028", "a: b", "a: [b, c]", "{a: b}", "- x\n", '"\\u263a"',
    '"\\x41\\0"', '"\\ud800"', '"\\z"', "|-\n  a", "'a''b'", "\t- a", "!a%C3%A9 ", "!a%C3 ",
]  # fmt: skip


class _Oracle(yaml.CSafeLoader):
    """PyYAML's composer on libyaml, with no tag but those that the text has."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        return ""


Told = tuple[Any, ...]
CYCLE = "contains itself"
BAD_TAG = ("syntax", "the tag is not UTF-8")


def told_by_pyyaml(text: str) -> Told:
    loader = _Oracle(text)
    try:
        root = loader.get_node() if loader.check_node() else None
        second = loader.get_node() if loader.check_node() else None
        seen: dict[int, int] = {}
        return _pyyaml_tree(root, seen), _pyyaml_tree(second, seen)
    except yaml.MarkedYAMLError as error:
        problem = "the anchor is defined twice" if error.problem == "second occurrence" else error.problem
        mark = error.problem_mark
        at_end = mark.index >= len(text)
        return "syntax", problem.replace("hexdecimal", "hexadecimal"), None if at_end else (mark.line, mark.column)
    except UnicodeDecodeError:  # the event with the tag is lost
        return "syntax", "the tag is not UTF-8", ()
    except yaml.YAMLError as error:
        return "character", str(error).splitlines()[0], None
    finally:
        loader.dispose()


def _pyyaml_tree(node: Any, seen: dict[int, int], around: tuple[int, ...] = ()) -> Any:
    if node is None:
        return None
    if id(node) in seen:
        return CYCLE if id(node) in around else seen[id(node)]
    seen[id(node)] = len(seen)
    around = (*around, id(node))
    place = (node.start_mark.line, node.start_mark.column, node.end_mark.line, node.end_mark.column)
    if isinstance(node, PyYamlScalar):
        return "scalar", node.tag, node.style, place, node.value
    assert isinstance(node, PyYamlCollection)
    if isinstance(node, yaml.SequenceNode):
        return "list", node.tag, node.flow_style, place, [_pyyaml_tree(item, seen, around) for item in node.value]
    return "mapping", node.tag, node.flow_style, place, [
        (_pyyaml_tree(key, seen, around), _pyyaml_tree(item, seen, around)) for key, item in node.value
    ]  # fmt: skip


def told_by_core(text: str) -> Told:
    try:
        roots = _core.compose_yaml(text, 1_000, 1_000_000)
    except _core.YamlError as error:
        return error.args
    seen: dict[int, int] = {}
    return tuple(_tree(root, seen) for root in roots)


def _tree(node: Any, seen: dict[int, int]) -> Any:
    if node is None:
        return None
    if id(node) in seen:
        return seen[id(node)]
    seen[id(node)] = len(seen)
    place = (node.start_mark.line, node.start_mark.column, node.end_mark.line, node.end_mark.column)
    if isinstance(node, _core.ScalarNode):
        return "scalar", node.tag, node.style, place, node.value
    if isinstance(node, _core.SequenceNode):
        return "list", node.tag, node.flow_style, place, [_tree(item, seen) for item in node.value]
    return "mapping", node.tag, node.flow_style, place, [
        (_tree(key, seen), _tree(item, seen)) for key, item in node.value
    ]  # fmt: skip


def made(rng: Random) -> str:
    """A text of pieces, or a part of a policy's text with a few pieces put in or taken out."""
    if rng.random() < 0.4:
        return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 25)))
    text = as_text(rng, policy(rng)) or "rules: []\n"
    start = text.rfind("\n", 0, rng.randrange(len(text) + 1)) + 1
    text = text[start : start + rng.choice([100, 300, 600])]
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + (rng.choice(PIECES) + text[at:] if rng.random() < 0.8 else text[at + 2 :])
    return text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nodes_and_problems_are_those_of_pyyaml(chunk: int, record_property: Callable[[str, int], None]) -> None:
    composed = refused = recursive = 0
    for seed in campaign.seeds(TEXTS, chunk, CHUNKS):
        text = made(Random(seed))
        found = told_by_core(text)
        if found[0] == "recursive":  # PyYAML goes on, to a node that contains itself or to a problem behind it
            told = told_by_pyyaml(text)
            assert told[0] in ("syntax", "character") or CYCLE in str(told), (seed, text)
            recursive += 1
            continue
        told = told_by_pyyaml(text)
        assert found == told or found[:2] == told[:2] == BAD_TAG, (seed, text)
        refused += found[0] in ("syntax", "character")
        composed += found[0] is not None and found[0] not in ("syntax", "character")
    for name, count in {"composed": composed, "refused": refused, "recursive": recursive}.items():
        record_property(name, count)
    assert composed >= TEXTS // CHUNKS // 10
    assert refused >= TEXTS // CHUNKS // 10


def test_what_fuzzing_found_is_read() -> None:
    for path in (Path(__file__).parents[2] / "rust/fuzz/found/read_yaml").glob("*"):
        told_by_core(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "|-\n  ends without a line break", '"*a\\', "", "\n", "---\n---\na", "a: &x {b: 1}\nc: *x", "? [a]\n: b",
        "- &a\n- *a", "- x\n--- y\n @",
        "&a a: *a", "!!map {a: b}", "'é': \"日\\n\"", "a: |\n  x\n\n  y\nb: >-\n  z\n", "[1.5\\: a: b0|",
    ],
)  # fmt: skip
def test_texts_that_other_readers_of_yaml_read_otherwise(text: str) -> None:
    assert told_by_core(text) == told_by_pyyaml(text)
