"""A lowered rule is what it means: the same anywhere, and loaded where its code is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bobcat
from bobcat import compile_policy, load_bundle

TEXT = '''\
import re
from bobcat import deny, rule

LIMIT = 5
TABLE = {"b": 1, "a": 2}
WORD = re.compile("x+", re.I)


def helper(value):
    return value > LIMIT


@rule(priority=7, id="large")
def check(request, context):
    """Large things are refused."""
    if helper(request.args["n"]):
        return deny(f"{request.args['n']} is large")
    if WORD.search(request.tool) or request.tool in TABLE:
        return deny("a word")
    return None
'''


def made(tmp_path: Path, text: str, file: str = "rules.py") -> Any:
    """The rule of a text that is written to a file."""
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": path.stem}
    exec(compile(text, str(path), "exec", dont_inherit=True), namespace)
    return namespace["check"]


def compiled(tmp_path: Path, text: str, file: str = "rules.py") -> bobcat.PolicyBundle:
    return compile_policy("rules: []", python_rules=[made(tmp_path, text, file)])


@pytest.mark.parametrize(
    "change",
    [
        ("import re\n", "# moved down\n\n\nimport re\n"),
        ("value", "some_other_name"),
        ('    """Large things are refused."""\n', ""),
        ("def helper(value):", "def helper(value: int) -> bool:"),
        ("n = 5", "n = 5"),
    ],
)
def test_names_comments_annotations_and_places_do_not_count(tmp_path: Path, change: tuple[str, str]) -> None:
    one = compiled(tmp_path, TEXT)
    other = compiled(tmp_path, TEXT.replace(*change), "elsewhere/other_rules.py")
    assert one.id == other.id
    assert one == other


@pytest.mark.parametrize(
    "change",
    [
        ("LIMIT = 5", "LIMIT = 6"),
        ("LIMIT = 5", "LIMIT = 5.0"),
        ("LIMIT = 5", "LIMIT = True"),
        ("value > LIMIT", "value >= LIMIT"),
        ('{"b": 1, "a": 2}', '{"a": 2, "b": 1}'),
        ("re.I)", "0)"),
        ("is large", "is  large"),
        ("priority=7", "priority=8"),
        ('id="large"', 'id="larger"'),
    ],
)
def test_what_a_rule_means_counts(tmp_path: Path, change: tuple[str, str]) -> None:
    assert change[0] in TEXT
    assert compiled(tmp_path, TEXT).id != compiled(tmp_path, TEXT.replace(*change)).id


def test_the_mark_gives_the_priority_and_the_id_and_the_caller_may_give_another(tmp_path: Path) -> None:
    rule = made(tmp_path, TEXT)
    names = [(node.name, node.priority) for node in compile_policy("rules: []", python_rules=[rule]).ir.rules]  # type: ignore[union-attr]
    assert names == [("large", 7)]
    for priorities in ([3], {"large": 3}, [("large", 3)]):
        bundle = compile_policy("rules: []", python_rules=[rule], python_rule_priorities=priorities)
        assert [node.priority for node in bundle.ir.rules] == [3]


def test_a_bundle_decides_in_a_process_that_has_never_seen_the_code(tmp_path: Path) -> None:
    (tmp_path / "rules.bundle").write_bytes(compiled(tmp_path, TEXT).to_bytes())
    program = (
        "import sys, bobcat\n"
        "bundle = bobcat.load_bundle('rules.bundle')\n"
        "decide = lambda **call: bundle.evaluate(bobcat.request_from_json(call))\n"
        "for call in ({'args': {'n': 6}}, {'args': {'n': 5}}, {'args': {}}):\n"
        "    print(*decide(tool='XX', **call).matched_rules, decide(tool='XX', **call).reason)\n"
        "assert not {'yaml', 're2', 'bobcat.compiler', 'bobcat.frontend'} & set(sys.modules)\n"
    )
    (tmp_path / "rules.py").unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "large 6 is large",
        "large a word",
        "<rule_error:large:KeyError> rule `large` could not be judged (KeyError); denied",
    ]


def test_the_source_map_leads_to_the_function(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, TEXT)
    path = str(tmp_path / "rules.py")
    assert bundle.source_map is not None
    span = bundle.source_map.rule_span(0)
    assert span is not None
    assert (span.file, span.line, span.end_line) == (path, 14, 20)
    assert bundle.source_map.rules[0].description == "Large things are refused."
    assert bundle.sources[path] == TEXT
    explained = bundle.explain(bobcat.request_from_json({"tool": "t", "args": {"n": 9}}))
    assert explained.rules[0].span == span
    assert f"large (Python function): true  {path}:14:1" in explained.to_text()


def test_a_file_names_no_absolute_path(tmp_path: Path) -> None:
    data = compiled(tmp_path, TEXT).to_bytes(sources=True)
    assert str(tmp_path).encode() not in data
    assert load_bundle(data).source_files[-1] == "rules.py"


def test_compiling_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    rule = made(tmp_path, TEXT)
    one, other = (compile_policy("rules: []", python_rules=[rule]).to_bytes() for _ in range(2))
    assert one == other


def test_the_listing_of_the_ir_names_the_rule(tmp_path: Path) -> None:
    from bobcat.ir.pretty import policy_text

    assert "large" in policy_text(compiled(tmp_path, TEXT).ir)


def in_a_set(request, context):  # type: ignore[no-untyped-def]
    return bobcat.deny("one of them") if request.args["n"] in {8, 0} else None


def test_a_set_among_the_constants_is_the_same_in_any_order() -> None:
    """The order of a set read from a compiled module can differ from that of a compilation: hashes of texts do."""
    code = in_a_set.__code__
    made = [frozenset([0, 8]), frozenset([8, 0])]
    assert repr(made[0]) != repr(made[1])
    for each in made:
        in_a_set.__code__ = code.replace(
            co_consts=tuple(each if isinstance(item, frozenset) else item for item in code.co_consts)
        )
        assert compile_policy("rules: []", python_rules=[in_a_set]).manifest.host_rules == ()
    in_a_set.__code__ = code.replace(
        co_consts=tuple(frozenset([8, 1]) if isinstance(item, frozenset) else item for item in code.co_consts)
    )
    with pytest.raises(bobcat.PolicyCompileError, match="has changed since it was compiled"):
        compile_policy("rules: []", python_rules=[in_a_set])
