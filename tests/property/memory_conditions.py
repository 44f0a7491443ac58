"""Strategies of conditions on a run, and of the results that they read."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TOOLS = ("pay", "read", "find")
NAMES = ("ann", "bob", "cy")

# Any: conditions, formulas and results as plain data, here and below.
tools = st.one_of(
    st.sampled_from(TOOLS).map(lambda name: {"tool": name}),
    st.just({"tool.in": ["pay", "find"]}),
    st.builds(lambda name, who: {"tool": name, "args.to": who}, st.sampled_from(TOOLS), st.sampled_from(NAMES)),
)
windows = st.sampled_from([None, None, 5, "20s", "1m"])
events = st.one_of(
    tools.map(lambda match: {"call": match}),
    tools.map(lambda match: {"result": match}),
    st.builds(lambda match, code: {"result": {**match, "result.code": code}}, tools, st.integers(0, 1)),
)


def windowed(formula: dict[str, Any], within: Any) -> dict[str, Any]:
    return formula if within is None else {**formula, "within": within}


def unwindowed(formula: dict[str, Any]) -> bool:
    return "within" not in formula


formulas = st.recursive(
    events,
    lambda inner: st.one_of(
        inner.map(lambda item: {"not": item}),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: {"all_of": items}),
        st.lists(inner, min_size=1, max_size=2).map(lambda items: {"any_of": items}),
        st.builds(lambda item, within: {"previous": windowed(item, within)}, inner.filter(unwindowed), windows),
        st.builds(lambda item, within: windowed({"formerly": item}, within), inner.filter(unwindowed), windows),
        st.builds(lambda a, b, within: {"since": windowed({"holds": a, "start": b}, within)}, inner, inner, windows),
        st.builds(lambda a, b: {"never": {"event": a, "since": b}}, inner, inner),
    ),
    max_leaves=4,
)
plain_formulas = formulas.filter(unwindowed)
operators = st.sampled_from(["lt", "le", "gt", "ge", "eq"])
bounds = st.integers(0, 4)


def measured(kind: str, of: dict[str, Any], op: str, bound: int, *, within: Any, this: bool) -> dict[str, Any]:
    test = {"with_this": {op: bound}} if this else {op: bound}
    options = {"of": of, **({"field": "n"} if kind == "sum" else {}), **test}
    return {f"run.{kind}": windowed(options, within)}


conditions = st.one_of(
    st.builds(lambda name, op, bound: {f"run.count.{name}.{op}": bound}, st.sampled_from(TOOLS), operators, bounds),
    st.builds(
        lambda name, op, bound: {f"run.sum.{name}.n.with_this.{op}": bound}, st.sampled_from(TOOLS), operators, bounds
    ),
    st.builds(
        lambda kind, of, op, bound, within, this: measured(kind, of, op, bound, within=within, this=this),
        st.sampled_from(["count", "sum"]), tools, operators, bounds, windows, st.booleans(),
    ),
    tools.map(lambda match: {"run.after": match}),
    tools.map(lambda match: {"run.last": match}),
    st.builds(lambda item, within: {"run.formerly": windowed(item, within)}, plain_formulas, windows),
    st.builds(lambda item, within: {"run.previous": windowed(item, within)}, plain_formulas, windows),
    st.builds(
        lambda a, b, within: {"run.since": windowed({"holds": a, "start": b}, within)}, formulas, formulas, windows
    ),
    st.builds(lambda a, b: {"run.never": {"event": a, "since": b}}, formulas, formulas),
    st.lists(st.sampled_from(["people", "mine"]), min_size=1, max_size=2, unique=True).map(
        lambda names: {"args.who.to.from": names}
    ),
)  # fmt: skip
records = st.fixed_dictionaries(
    {"name": st.sampled_from(NAMES), "code": st.integers(0, 1)},
    optional={"more": st.fixed_dictionaries({"name": st.sampled_from(NAMES)})},
)
results = st.one_of(records, st.lists(records, max_size=2))
