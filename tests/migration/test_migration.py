"""Migration: each edit keeps what the policy decides, comments stay, and the rest is named."""

from __future__ import annotations

import warnings
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import Policy, PolicyCompileError, Request
from bobcat.frontend.files import NO_INPUTS
from bobcat.migration import Migration, migrate


def from_lynx(text: str) -> Migration:
    return migrate(text, "p.yaml", "lynx", NO_INPUTS)


def lynx(text: str) -> Policy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Policy.compile(text, profile="lynx")


RULE = "rules: [{%s, match: {}, decision: deny}]\n"
VALUE = "rules: [{match: {args.x: %s}, decision: deny}]\n"
EDITS = {
    "verdict": ("rules:\n- {verdict: deny, match: {}}  # c\n", "rules:\n- {decision: deny, match: {}}  # c\n"),
    "case": ("rules:\n- {id: a, decision: DENY, match: {}}\n", "rules:\n- {id: a, decision: deny, match: {}}\n"),
    "verdict and case": ("rules:\n- verdict: Deny\n  match: {}\n", "rules:\n- decision: deny\n  match: {}\n"),
    "default": ("defaults: {on_no_match: Deny}\nrules: []\n", "defaults: {on_no_match: deny}\nrules: []\n"),
    "no match": ("rules:\n- id: a  # c\n  decision: deny\n", "rules:\n- id: a  # c\n  match: {}\n  decision: deny\n"),
    "no match in a line": ("rules: [{id: a, decision: deny}]\n", "rules: [{id: a, match: {}, decision: deny}]\n"),
    "no match and no id": ("rules: [{decision: deny}]\n", "rules: [{match: {}, decision: deny}]\n"),
    "no decision": ("rules:\n- match: {tool: x}\n", "rules:\n- decision: deny\n  match: {tool: x}\n"),
    "priority": (RULE % "priority: '5'", RULE % 'priority: 5'),
    "fraction": (RULE % 'priority: 5.0', RULE % 'priority: 5'),
    "id": (RULE % 'id: 5', RULE % 'id: "5"'),
    "reason": (RULE % 'reason: 5', RULE % 'reason: "5"'),
    "yes": (VALUE % "yes", VALUE % "true"),
    "octal": (VALUE % "017", VALUE % "15"),
    "underscores": (VALUE % "1_000", VALUE % "1000"),
    "base 60": (VALUE % "1:30", VALUE % "90"),
    "unknown key": (
        "rules:\n- id: a\n  tags:\n    - x\n    - y\n  match: {}\n  decision: deny\n",
        "rules:\n- id: a\n  # tags:\n  #   - x\n  #   - y\n  match: {}\n  decision: deny\n",
    ),
    "unknown first key": (
        "rules:\n  - name: first\n    id: a\n    match: {}\n    decision: deny\n",
        "rules:\n  # name: first\n  - id: a\n    match: {}\n    decision: deny\n",
    ),
    "unknown section": ("owner: me\nrules: []\n", "# owner: me\nrules: []\n"),
    "repeated key": (
        "rules:\n- id: a\n  priority: 1\n  priority: 2\n  match: {}\n  decision: deny\n",
        "rules:\n- id: a\n  # priority: 1\n  priority: 2\n  match: {}\n  decision: deny\n",
    ),
    "windows": (
        "rules:\r\n- id: a\r\n  decision: deny\r\n",
        "rules:\r\n- id: a\r\n  match: {}\r\n  decision: deny\r\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_with_the_same_meaning_is_made(name: str) -> None:
    before, after = EDITS[name]
    result = from_lynx(before)
    assert result.text == after
    assert result.changes
    assert result.left == ()
    Policy.compile(result.text)
    assert from_lynx(after).changes == ()


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("{id: a, match: {}, decision: approve_required, approvers: alice}", "E0207"),
        ("{id: a, match: {tool: [x, y]}, decision: deny}", "E0308"),
        ("{id: a, match: {arg.x: 1}, decision: deny}", "E0301"),
        ("{id: a, match: {args.x.matches: '(?=a)'}, decision: deny}", "E0701"),
        ("{id: a, match: {args.x: 2026-01-01}, decision: deny}", "W0206"),
        ("{id: a, tags: [x], match: {}, decision: deny}", "E0202"),
    ],
)
def test_an_edit_that_would_change_the_meaning_is_not_made(rule: str, code: str) -> None:
    text = f"rules:\n  - {rule}\n"
    result = from_lynx(text)
    assert result.text == text
    assert code in [item.code for item in result.left]
    assert not result.complete


def test_differences_of_the_profiles_are_left_to_a_person() -> None:
    result = from_lynx(
        "defaults: {on_no_match: allow}\nrules:\n- {id: a, match: {tool: pay, args.amount.gt: 100}, verdict: deny}\n"
    )
    assert [change.finding.code for change in result.changes] == ["E0202"]
    assert result.left == ()
    assert result.examination is not None
    assert {item.rule for item in result.examination.differences} == {"a"}
    assert not result.complete


def test_a_policy_of_the_strict_profile_gets_quotes() -> None:
    text = "rules:\n- {match: {args.x: no, args.y: 2026-01-01}, decision: deny}  # c\n"
    result = migrate(text, "p.yaml", "strict", NO_INPUTS)
    assert result.text == text.replace(" no,", ' "no",').replace("2026-01-01", '"2026-01-01"')
    assert result.complete
    assert Policy.compile(result.text).id == Policy.compile(text).id
    assert not Policy.compile(result.text).warnings


def test_a_policy_that_does_not_compile_is_refused() -> None:
    with pytest.raises(PolicyCompileError):
        from_lynx("rules: 5\n")
    with pytest.raises(PolicyCompileError):
        migrate("rules: [{verdict: deny}]\n", "p.yaml", "strict", NO_INPUTS)


PARTS = (
    *("verdict: DENY", "verdict: allow", "decision: Deny", "decision: allow", "priority: '7'", "priority: 3", "id: 12"),
    *("id: a{n}", "name: first", "tags: [x, y]", "reason: 5", "reason: text", "match: {args.x: yes}", "approvers: bob"),
    *("match: {tool: t, args.n.gt: 010}", "match: {args.x: 'yes'}", "approvers: [bob]"),
    "match: {any_of: [{args.x: off}, {args.n.lt: 1_0}]}",
)


@given(st.integers(0, 2**32))
def test_what_lynx_agent_decides_does_not_change(seed: int) -> None:
    random = Random(seed)
    rules = ""
    for number in range(random.randint(1, 4)):
        parts = [part.replace("{n}", str(number)) for part in random.sample(PARTS, random.randint(1, 5))]
        keys = [part.partition(":")[0] for part in parts]
        entries = [f"{part}  # c{number}-{at}" for at, part in enumerate(parts) if keys.count(keys[at]) == 1]
        if entries:
            rules += "  - " + "\n    ".join(entries) + "\n"
    text = f"# head\nrules:\n{rules or '  []'}\n"
    result = from_lynx(text)
    old, new = lynx(text), lynx(result.text)
    for args in ({"x": True}, {"x": "yes"}, {"x": False, "n": 5}, {"n": 9}, {"n": 100, "x": "off"}, {}):
        for tool in ("t", "u"):
            one, other = (policy.evaluate(Request(tool, args)) for policy in (old, new))
            assert (one.verdict, list(map(str, one.matched_rules)), tuple(one.approvers)) == (
                other.verdict, list(map(str, other.matched_rules)), tuple(other.approvers),
            )  # fmt: skip
    assert result.text.count("# c") >= text.count("# c")
    assert all(line.split("#")[1] in result.text for line in text.splitlines() if "#" in line)
