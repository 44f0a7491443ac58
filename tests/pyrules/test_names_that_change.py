"""Changes of names: of the one that a rule reads, not of another one with the same spelling."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bobcat import PolicyCompileError, compile_policy, request_from_json

HEAD = "from bobcat import deny\n"
CLOSURE = """
def make(limit):
    def rule(request, context):
        return deny("over") if request.args["n"] > limit else None
    return rule
"""
READS = """
def rule(request, context):
    return deny("over") if request.args["n"] > limit else None
"""
STAYS = {
    "a module variable of the closure's name": CLOSURE + "limit = 1\nlimit = 7\nrule = make(3)\n",
    "a module list of the closure's name": CLOSURE + "limit = []\nlimit.append(1)\nrule = make(3)\n",
    "a global of the closure's name": CLOSURE + "def f():\n    global limit\n    limit = 1\nrule = make(3)\n",
    "a loop of the closure's name": CLOSURE + "for limit in (1, 2):\n    pass\nrule = make(3)\n",
    "a closure that its own function binds twice": """
def make(limit=None):
    limit = limit or 3
    def rule(request, context):
        return deny("over") if request.args["n"] > limit else None
    return rule
rule = make()
""",
    "a closure two functions out": """
limit = 1
limit = 2
def outer(limit):
    def middle():
        def rule(request, context):
            return deny("over") if request.args["n"] > limit else None
        return rule
    return middle()
rule = outer(3)
""",
    "a comprehension": "limit = 3\nothers = [limit for limit in (1, 2)]\n" + READS,
    "a comprehension that changes what it goes over": (
        "limit = 3\nothers = [limit.append(1) for limit in ([], [])]\n" + READS
    ),
    "a class": "limit = 3\nclass Other:\n    limit = 1\n    limit += 1\n" + READS,
    "a parameter": "limit = 3\ndef other(limit):\n    limit += 1\n    return limit\n" + READS,
    "another closure": (
        "limit = 3\ndef other():\n    limit = 0\n    def count():\n        nonlocal limit\n        limit += 1\n"
        "    return count\n" + READS
    ),
    "a function in a loop": (
        "limit = 3\nfor _ in ():\n    def other():\n        limit = 1\n        return limit\n" + READS
    ),
    "a lambda": "limit = 3\nother = lambda limit: limit.append(1)\n" + READS,
}
CHANGES = {
    "a module variable that is bound twice": "limit = 1\nlimit = 3\n" + READS,
    "a global": "limit = 3\ndef f():\n    global limit\n    limit = 1\n" + READS,
    "a global of a function that is inside of one with such a name": (
        "limit = 3\ndef f(limit):\n    def g():\n        global limit\n        limit = 1\n    return g\n" + READS
    ),
    "a global that a class declares": "limit = 3\nclass Other:\n    global limit\n    limit = 1\n" + READS,
    "a method": "limit = {}\nclass Other:\n    limit = 1\n    def f(self):\n        limit.update(a=1)\n" + READS,
    "a name that is assigned in a comprehension": "limit = 3\nothers = [(limit := x) for x in (1, 2)]\n" + READS,
    "a closure": """
def make(limit):
    def other():
        nonlocal limit
        limit += 1
    def rule(request, context):
        return deny("over") if request.args["n"] > limit else None
    return rule
rule = make(3)
""",
    "a list of a closure": """
def make(limit):
    def other(item):
        limit.append(item)
    def rule(request, context):
        return deny("over") if request.args["n"] in limit else None
    return rule
rule = make([9])
""",
    "a closure, by a method": """
def make(limit):
    class Other:
        def f(self):
            nonlocal limit
            limit = 1
    def rule(request, context):
        return deny("over") if request.args["n"] > limit else None
    return rule
rule = make(3)
""",
}


def module(tmp_path: Path, source: str) -> ModuleType:
    path = tmp_path / "names_that_change.py"
    path.write_text(HEAD + source)
    spec = importlib.util.spec_from_file_location("names_that_change", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("source", STAYS.values(), ids=STAYS)
def test_another_name_that_is_spelt_alike_may_change(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module(tmp_path, source)
    monkeypatch.setitem(sys.modules, "names_that_change", made)
    bundle = compile_policy("rules: []", python_rules=[made.rule])
    assert not bundle.python_rules
    for number, verdict in ((9, "deny"), (2, "approve_required")):
        assert bundle.evaluate(request_from_json({"tool": "t", "args": {"n": number}})).verdict == verdict


@pytest.mark.parametrize("source", CHANGES.values(), ids=CHANGES)
def test_a_name_that_changes_is_refused_with_the_line(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = module(tmp_path, source)
    monkeypatch.setitem(sys.modules, "names_that_change", made)
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy("rules: []", python_rules=[made.rule])
    [found] = [item for item in caught.value.diagnostics if item.severity == "error"]
    assert found.code == "E0808"
    assert "`limit`, which changes in line" in found.message
