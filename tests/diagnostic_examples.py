"""One failing example for every diagnostic code: from the documentation, or made here where text cannot show it."""

from __future__ import annotations

import contextlib
import functools
import linecache
import logging
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bobcat import build
from bobcat.analysis import read_invariants
from bobcat.compiler import compile_policy
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.diagnostics.render import render_text
from bobcat.errors import PolicyCompileError
from bobcat.frontend.files import Inputs, PolicyFiles
from bobcat.lint.argument_schema import ToolFacts
from bobcat.lint.check import check_source
from bobcat.testing.suites.document import read_suite
from bobcat.testing.suites.subjects import Subjects

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "docs" / "reference" / "diagnostics.md", ROOT / "docs" / "reference" / "lints.md")
FILE = "policy.yaml"

_SECTION = re.compile(
    r"^### (?P<code>[EWN]\d{4}) (?P<name>[a-z0-9-]+)\n(?P<body>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL
)
_YAML = re.compile(r"(?P<instead>^Use instead:\n\n)?^```yaml\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Section:
    """The documentation of one code."""

    code: str
    name: str
    prose: str
    example: str | None
    instead: str | None


def sections() -> Iterator[Section]:
    for page in PAGES:
        for found in _SECTION.finditer(page.read_text(encoding="utf-8")):
            blocks = {bool(block["instead"]): block["text"] for block in _YAML.finditer(found["body"])}
            prose = found["body"].split("```")[0].removesuffix("Use instead:\n\n").strip()
            yield Section(found["code"], found["name"], prose, blocks.get(False), blocks.get(True))


def profile_of(code: str) -> str:
    return "lynx" if code.startswith(("W020", "W021", "E09")) else "strict"


TOOLS = {
    "read_file": ToolFacts(
        "read_file",
        {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}},
        {"reversible": True},
    )
}
"""The tools that the examples of codes of `check --tools` are about."""


def check(source: Any, code: str) -> tuple[Diagnostic, ...]:
    if code.startswith("E11"):
        return read_suite(source, FILE).diagnostics
    if code.startswith("E13"):
        return read_invariants(source, FILE).diagnostics
    tools = TOOLS if code in ("W0138", "W0139", "W0140", "W0141", "N0102") else None
    return check_source(source, FILE, profile=profile_of(code), tools=tools)  # type: ignore[arg-type]


@functools.cache
def raised(section: Section) -> tuple[Diagnostic, ...]:
    """The diagnostics of the code's example that have the code."""
    if section.example is not None:
        found = check(section.example, section.code)
    else:
        found = MADE[section.code]()
    return tuple(item for item in found if item.code == section.code)


def rendered(section: Section) -> str:
    sources = {FILE: section.example} if section.example is not None else {RULES_FILE: RULES}
    return render_text(raised(section), sources) + "\n"


def _strict(source: Any) -> tuple[Diagnostic, ...]:
    return check_source(source, FILE)


def _included(**files: str) -> tuple[Diagnostic, ...]:
    """The findings of `policy.yaml` among some files, by the stems of their names."""
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        for name, text in files.items():
            Path(f"{name}.yaml").write_text(text, encoding="utf-8")
        return check_source(files["policy"], FILE, inputs=Inputs(PolicyFiles(FILE)))


def _with_variable(value: object) -> tuple[Diagnostic, ...]:
    text = 'vars: {limit: 500}\nrules: [{match: {args.n.gt: "${limit}"}, decision: deny}]\n'
    return check_source(text, FILE, inputs=Inputs(None, {"limit": value}))


def _with_rules(*rules: Any, profile: str = "strict", **options: Any) -> tuple[Diagnostic, ...]:
    try:
        bundle = compile_policy(
            "rules: [{id: a, match: {}, decision: deny}]",
            FILE,
            profile=profile,  # type: ignore[arg-type]
            python_rules=rules,
            **options,
        )
    except PolicyCompileError as error:
        return error.diagnostics
    return bundle.diagnostics


def _built(expression: str) -> Any:
    """The result of an expression of `bobcat.build` in a separate file."""
    return eval(compile(expression, "policy.py", "eval"), {**vars(build), "__name__": "policy"})


def _bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    return "\n".join(lines)


def _multiplying() -> dict[str, Any]:
    predicates: dict[str, Any] = {"p0": {"tool": "x"}}
    for i in range(1, 6):
        predicates[f"p{i}"] = {"any_of": [{"all_of": [f"p{i - 1}"], f"args.a{i}": j} for j in range(14)]}
    return {"predicates": predicates, "rules": [{"match": "p5", "decision": "deny"}]}


def _patterns() -> dict[str, Any]:
    patterns = [{"args.x.matches": f"{i:06}" + "x" * 994} for i in range(4_200)]
    return {"rules": [{"match": {"any_of": patterns}, "decision": "deny"}]}


def _repeating() -> dict[str, Any]:
    patterns = [{"args.x.matches": rf"\pL{{200}}{i:02}"} for i in range(100)]
    return {"rules": [{"match": {"any_of": patterns}, "decision": "deny"}]}


def _comparable(count: int) -> list[dict[str, Any]]:
    return [{"match": {"args.n.gt": count - i}, "decision": "deny"} for i in range(count)]


def _negated(levels: int) -> dict[str, Any]:
    match: dict[str, Any] = {"tool": "x"}
    for _ in range(levels):
        match = {"not": match}
    return {"rules": [{"match": match, "decision": "deny"}]}


def _rule(request: Any, context: Any) -> None:
    return None


def _reaching_out() -> Callable[[Any, Any], None]:
    log = logging.getLogger("rules")

    def logs(request: Any, context: Any) -> None:
        log.info("seen")

    return logs


RULES_FILE = "rules.py"
RULES = """\
import random
import re
from bobcat import deny

tables = {"gold": 500}


def looks_back(request, context):
    return re.search(r"(?<=x)y", request.tool)


def sometimes(request, context):
    return None if random.random() < 0.5 else deny("bad luck")


def by_table(request, context):
    return tables.get(request.tool)


def condition_first(request, context):
    return request.tool == "shell" and deny("no shell")


async def waits(request, context):
    return None


def refuses(request, context):
    return deny("no")
"""


@functools.cache
def _rules_of_a_file() -> dict[str, Any]:
    """The functions of a text that diagnostics can show."""
    namespace: dict[str, Any] = {"__name__": "rules"}
    linecache.cache[RULES_FILE] = (len(RULES), None, RULES.splitlines(keepends=True), RULES_FILE)
    exec(compile(RULES, RULES_FILE, "exec", dont_inherit=True), namespace)
    return namespace


def _with_rule_of_a_file(name: str, **options: Any) -> tuple[Diagnostic, ...]:
    return _with_rules(_rules_of_a_file()[name], **options)


def _many_definitions() -> dict[str, Any]:
    return {"rules": [{"match": {f"run.count.t{i}.lt": 3}, "decision": "allow"} for i in range(1_001)]}


def _unusable(**keys: str) -> tuple[Diagnostic, ...]:
    """The findings about the policy and the tools of a suite."""
    lines = {"policy": str(ROOT / "tests" / "policies" / "none.yaml"), **keys}
    suite = read_suite("\n".join([*(f"{key}: {item}" for key, item in lines.items()), "cases: []"]), FILE).suite
    assert suite is not None
    found = Subjects().of(suite)
    assert isinstance(found, list)
    hidden = [replace(item, message=item.message.replace(f"{ROOT}/", "")) for item in found]
    return tuple(hidden)


MADE: dict[str, Callable[[], tuple[Diagnostic, ...]]] = {
    "E0102": lambda: _strict({"rules": [{"id": "\ud800", "match": {}, "decision": "deny"}]}),
    "E1109": _unusable,
    "E1304": lambda: read_invariants("invariants: [{id: a, within: no/such.yaml}]", FILE).diagnostics,
    "E1110": lambda: _unusable(tools="no_such_module:tools"),
    "E0103": lambda: _strict("rules:\n  - match: {args.text: a\x07b}\n    decision: deny\n"),
    "E0107": lambda: _strict("#" * (16 * 1024 * 1024 + 1)),
    "E0108": lambda: _strict("[" * 65),
    "E0109": lambda: _strict(_bomb()),
    "E0113": lambda: _strict({"rules": [{"match": {"tool.in": {"shell"}}, "decision": "deny"}]}),
    "E0114": lambda: _strict("rules:\n" + "  - {}\n" * 600),
    "E0212": lambda: _strict("rules: [" + "x," * 100_001 + "]"),
    "E0411": lambda: _strict({"rules": [{"match": {"args.n.gt": 1 << 4096}, "decision": "deny"}]}),
    "E0412": lambda: _strict({"rules": [{"match": {"args.x": "x" * (1024 * 1024 + 1)}, "decision": "deny"}]}),
    "E0504": lambda: _strict(_negated(41)),
    "E1010": lambda: _strict(_many_definitions()),
    "E0505": lambda: _strict(_multiplying()),
    "E1202": lambda: _included(policy="include: [comon.yaml]\nrules: []\n", common="rules: []\n"),
    "E1203": lambda: _included(
        policy="include: [a.yaml]\n", a="include: [b.yaml]\nrules: []\n", b="include: [a.yaml]\nrules: []\n"
    ),
    "E1204": lambda: _included(
        policy="include: [{file: pay.yaml, prefix: pay}, a.yaml]\n", a="include: [pay.yaml]\n", pay="rules: []\n"
    ),
    "E1205": lambda: _included(policy="include: [common.yaml]\n", common="defaults: {on_no_match: allow}\nrules: []\n"),
    "E1213": lambda: _with_variable("many"),
    "E0702": lambda: _strict(_patterns()),
    "E0704": lambda: _strict(_repeating()),
    "E0801": lambda: _with_rules("no_secrets"),
    "E0802": lambda: _with_rule_of_a_file("waits"),
    "E0803": lambda: _with_rules(*[_rules_of_a_file()["refuses"]] * 2),
    "E0804": lambda: _with_rules(functools.partial(_rule), profile="lynx"),
    "E0805": lambda: _with_rules(_rule, python_rule_priorities=[("_ruel", 5)]),
    "E0806": lambda: _with_rules(_rule, python_rule_priorities=[1, 2]),
    "E0820": lambda: _with_rules(_built('when(tool == "shell").deny()')),
    "E0821": lambda: _with_rules(_built('Policy(when(tool == "shell").deny(), on_no_match="allow")')),
    "E0822": lambda: _with_rules(_built('when(tool == "shell").deny(id="no-shell")'), profile="lynx"),
    "E0902": lambda: check(_bomb(), "E0902"),
    "E0807": lambda: _with_rule_of_a_file("looks_back"),
    "E0808": lambda: _with_rule_of_a_file("sometimes"),
    "W0115": lambda: _with_rule_of_a_file("looks_back", uncompiled="callable"),
    "W0116": lambda: _with_rule_of_a_file("sometimes", uncompiled="callable"),
    "W0117": lambda: _with_rule_of_a_file("by_table"),
    "W0118": lambda: _with_rule_of_a_file("condition_first"),
    "N0103": lambda: (diagnose("N0103", None, file="ci/deploy.yaml", problem="it has none of the keys of a policy"),),
    "N0101": lambda: _strict({"rules": _comparable(2_000)}),
    "W0114": lambda: _with_rules(_reaching_out(), uncompiled="callable"),
}
