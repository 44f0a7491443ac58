"""The work of `check` is bounded: suggestions, findings and comparisons have budgets, and say when these are spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy, PolicyCompileError, compile_policy
from bobcat._core import find_text
from bobcat.frontend import report, suggest
from bobcat.frontend.report import MAX_FINDINGS
from bobcat.frontend.strict import matches
from bobcat.lint import calls, ignores, values
from bobcat.lint.check import check_source
from bobcat.lint.lints import shadowed_rule


def misspelt(count: int) -> str:
    predicates = "".join(f"  pred_{i:06}: {{tool: t{i}}}\n" for i in range(count))
    rules = "".join(f"  - {{match: prde_{i:06}, decision: deny}}\n" for i in range(count))
    return f"predicates:\n{predicates}rules:\n{rules}"


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[int]:
    """Count the calls of a function of a module."""
    calls_seen = [0]
    original = getattr(module, name)

    def count(*args: object, **kwargs: object) -> object:
        calls_seen[0] += 1
        return original(*args, **kwargs)

    monkeypatch.setattr(module, name, count)
    return calls_seen


def test_suggestions_for_misspelt_names_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = counted(monkeypatch, suggest, "distance")
    found = check_source(misspelt(1_000), "p")
    assert compared[0] <= suggest.MAX_COMPARISONS
    assert {item.code for item in found} == {"E0501"}
    assert found[0].help == "did you mean `pred_000000`?"
    assert found[-1].help == (
        "define it under `predicates`; the search for a similar name stopped after 20,000 comparisons"
    )


def test_misspelt_names_of_a_short_source_are_all_compared() -> None:
    found = check_source(misspelt(100), "p")
    assert [item.help for item in found] == [f"did you mean `pred_{i:06}`?" for i in range(100)]


def test_no_rule_is_read_after_the_findings_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted(monkeypatch, matches, "parse_key")
    rules = "".join(f"  - {{match: {{argz.x{i}: 1}}, decison: deny}}\n" for i in range(20_000))
    found = check_source(f"rules:\n{rules}", "p")
    assert len(found) == MAX_FINDINGS + 1
    assert found[-1].code == "E0114" or "E0114" in {item.code for item in found}
    assert parsed[0] <= 3 * MAX_FINDINGS


def test_warnings_do_not_end_a_compilation() -> None:
    count = MAX_FINDINGS + 200
    rules = "".join(
        f"  - {{id: r{i}, match: {{tool: t{i}, args.files.empty: true}}, decision: deny}}\n" for i in range(count)
    )
    policy = compile_policy(f"rules:\n{rules}")
    assert [item.code for item in policy.warnings] == ["W0142"] * count
    with pytest.raises(PolicyCompileError) as raised:
        compile_policy(f"rules:\n{rules}  - {{id: last, decision: allow}}\n")
    assert len(raised.value.diagnostics) == count + 1
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("error[E0203]: ")
    assert lines[-1] == "1,200 more in `diagnostics`: warnings and notes"


def test_observations_past_a_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_OBSERVATIONS", 5)
    rules = "".join(
        f"  - {{id: r{i}, match: {{tool: t{i}, args.files.empty: true}}, decision: deny}}\n" for i in range(8)
    )
    found = check_source(f"rules:\n{rules}", "p")
    assert [item.code for item in found] == ["N0101", *["W0142"] * 5]
    assert "3 places" in found[0].message


def test_the_findings_of_included_files_end_too(tmp_path: Path) -> None:
    tagged = "rules:\n" + "".join(
        f"  - {{id: !x r{i}, match: {{tool: t}}, decision: deny}}\n" for i in range(MAX_FINDINGS - 1)
    )
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(tagged)
    (tmp_path / "main.yaml").write_text("include: [a.yaml, b.yaml]\nrules: []\n")
    with pytest.raises(PolicyCompileError) as raised:
        Policy.compile(tmp_path / "main.yaml")
    assert len(raised.value.diagnostics) == MAX_FINDINGS + 1
    assert {item.code for item in raised.value.diagnostics} == {"E0105", "E0114"}


def test_keys_of_one_rule_are_not_compared_after_the_findings_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = counted(monkeypatch, matches, "parse_key")
    keys = "".join(f"      argz.x{i}: 1\n" for i in range(20_000))
    check_source(f"rules:\n  - decision: deny\n    match:\n{keys}", "p")
    assert parsed[0] <= 3 * MAX_FINDINGS


def bounds(count: int) -> str:
    return "rules:\n" + "".join(
        f"  - {{id: r{i}, match: {{tool: t, args.n.gt: {count - i}}}, decision: deny}}\n" for i in range(count)
    )


def test_rules_that_could_shadow_each_other_are_compared_within_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = counted(monkeypatch, shadowed_rule, "covers")
    monkeypatch.setattr(shadowed_rule, "MAX_COMPARISONS", 10_000)
    found = check_source(bounds(1_000), "p")
    assert compared[0] <= 1_000 * shadowed_rule.LEAST_CANDIDATES
    assert [item.code for item in found] == ["N0101"]
    assert found[0].message == "the lints have compared only part of the policy: shadowed-rule for 979 rules"


def test_beginnings_and_ends_are_compared_with_what_can_imply_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadowed_rule, "MAX_COMPARISONS", 10_000)
    matches = [{f"args.x.{op}": f"/p{i:03}/"} for i in range(500) for op in ("starts_with", "ends_with")]
    matches += [{"args.x.starts_with": ["/p498/a", "/p499/"]}, {"args.x": "/a/p499/"}, {"args.x": "/a/p500/"}]
    found = check_source({"rules": [{"match": match, "decision": "deny"} for match in matches]}, "p")
    assert [(item.code, item.span.path if item.span else "") for item in found] == [("W0101", "$.rules[1001]")]


def test_comments_are_not_compared_with_every_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = counted(monkeypatch, ignores, "_ignorable_line")
    rules = "".join(
        f"  # bobcat: ignore W0131 because of {i}\n"
        f"  - {{id: r{i}, match: {{tool.starts_with: t{i:03}_}}, decision: allow}}\n"
        for i in range(300)
    )
    found = [item for item in check_source(f"rules:\n{rules}", "p") if item.code == "W0131"]
    assert [item.suppressed for item in found] == [f"of {i}" for i in range(300)]
    assert looked[0] <= 3 * len(found)


def test_a_policy_of_ordinary_size_is_compared_as_a_whole() -> None:
    assert check_source(bounds(1_000), "p") == ()


def test_a_budget_of_searches_that_is_spent_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_STEPS", 30)
    rules = "".join(
        f"  - {{id: r{i}, match: {{tool: t, args.a.contains: v{i}}}, decision: {'deny' if i % 2 else 'allow'}}}\n"
        for i in range(20)
    )
    assert "N0101" in {item.code for item in check_source(f"rules:\n{rules}", "p")}


def test_a_search_that_has_no_answer_within_its_budget_is_reported() -> None:
    pattern = r"^(\w+\s?){1,100}$"
    found = check_source({"rules": [{"match": {"args.path.matches": pattern}, "decision": "allow"}]}, "p")
    assert [item.code for item in found] == ["N0101", "N0104"]
    assert found[0].message.endswith("calls that get through, in 2 searches of 25,000 steps each")


def test_large_automata_cost_more_of_the_budget() -> None:
    small, large = r"^(\w+\s?){1,2}$", r"^(\w+\s?){1,100}$"
    cost = [find_text([("pattern", [pattern], False, True)], 25_000)[1] for pattern in (small, large)]
    assert cost[1] > 20 * cost[0]


def test_each_search_costs_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_STEPS", 10 * calls.STEPS_OF_A_SEARCH)
    searches = counted(monkeypatch, calls.CallFinder, "_find")
    rules = "".join(
        f"  - {{match: {{tool: t, args.n{i}.gt: 1}}, decision: {'deny' if i % 2 else 'allow'}}}\n" for i in range(100)
    )
    assert "N0101" in {item.code for item in check_source(f"rules:\n{rules}", "p")}
    assert searches[0] == 10


def test_steps_beyond_the_budget_of_a_search_are_charged_too(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 2 * calls.MAX_STEPS // 5
    monkeypatch.setattr(values, "find_text", lambda tests, steps: (None, taken))
    searches = counted(monkeypatch, calls.CallFinder, "_find")
    rules = "".join(
        f"  - {{match: {{tool: t{i}, args.a.contains: v{i}}}, decision: allow}}\n"
        f"  - {{match: {{tool: t{i}, args.a.contains: w{i}}}, decision: deny}}\n"
        for i in range(20)
    )
    assert "N0101" in {item.code for item in check_source(f"rules:\n{rules}", "p")}
    assert searches[0] == 3


@pytest.mark.slow
def test_the_work_of_check_does_not_grow_with_the_square_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = counted(monkeypatch, shadowed_rule, "covers")
    for count in (1_000, 10_000, 100_000):
        compared[0] = 0
        check_source(bounds(count), "p")
        assert compared[0] <= shadowed_rule.MAX_COMPARISONS + count
