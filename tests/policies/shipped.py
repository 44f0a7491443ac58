"""Every policy that is shipped: the starter, the examples, and those that the pages and examples hold as text."""

from __future__ import annotations

import ast
import importlib.util
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from bobcat import PolicyBundle, PolicyCompileError, Verdict, compile_policy, load_policy_file
from bobcat.build import Policy
from bobcat.build.rule_module import load_rules
from docs.markdown_blocks import blocks_of

ROOT = Path(__file__).resolve().parents[2]
STARTER = "bobcat init"
PERMITS = (Verdict.ALLOW, Verdict.TRANSFORM, Verdict.APPROVE_REQUIRED)


def shipped_policies() -> dict[str, list[PolicyBundle]]:
    """The policies that permit something, by the file that holds them."""
    found: dict[str, list[PolicyBundle]] = {}
    for name, bundle in _policies():
        if bundle.ir.rules and (name in _WITH_PYTHON or any(rule.verdict in PERMITS for rule in bundle.rules)):
            found.setdefault(name, []).append(bundle)
    return found


def _policies() -> Iterator[tuple[str, PolicyBundle]]:
    starter = files("bobcat.cli").joinpath("starter", "policy.yaml").read_text(encoding="utf-8")
    yield STARTER, compile_policy(starter)
    for path in sorted((ROOT / "examples" / "policies").glob("*.yaml")):
        yield str(path.relative_to(ROOT)), compile_policy(path.read_text(encoding="utf-8"))
    for name, make in _WITH_PYTHON.items():
        yield name, make(ROOT / name)
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").glob("*.py"))]:
        name = str(path.relative_to(ROOT))
        # Pages of diagnostics and lints show what is wrong with a policy.
        if name in _WITH_PYTHON or name.endswith(("diagnostics.md", "lints.md")) or "/adr/" in name:
            continue
        if path.suffix == ".md":
            yield from _with_includes(path, name)
        for text in _texts(path):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    yield name, compile_policy(text)
                except PolicyCompileError:
                    assert name in _WITH_MISTAKES, f"{name} holds a policy that does not compile:\n{text}"


def _with_includes(page: Path, name: str) -> Iterator[tuple[str, PolicyBundle]]:
    """The policies of a page that include other files of it."""
    files = {block.title: block.body for block in blocks_of(page) if block.title and block.language == "yaml"}
    with tempfile.TemporaryDirectory() as directory:
        for title, text in files.items():
            (Path(directory) / title).write_text(text, encoding="utf-8")
        for title, text in files.items():
            if text.startswith("include:"):
                yield name, load_policy_file(Path(directory) / title)


_WITH_MISTAKES = (
    "docs/tutorial/first-policy.md",
    "docs/reference/policy-language.md",
    "docs/reference/lynx-profile.md",
    "docs/reference/lynx-2-11.md",
    "docs/how-to/check-in-ci.md",
    "docs/how-to/migrate-a-policy.md",
)


def _texts(path: Path) -> Iterator[str]:
    """The texts in a file that are a policy."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _strings(text)
        return
    for block in blocks_of(path):
        if block.language == "yaml" and _is_policy(block.body) and not block.body.startswith("include:"):
            yield block.body
        elif block.language == "python":
            yield from _strings(block.body)


def _strings(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            if _is_policy(node.value):
                yield node.value
            elif "compile_policy(" in node.value:  # a program in a text
                yield from _strings(node.value)


def _is_policy(text: str) -> bool:
    keys = [line.partition(":")[0] for line in text.splitlines()]
    return "capabilities" in keys or ("decision:" in text and "rules" in keys)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"shipped_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _literal_addresses(path: Path) -> PolicyBundle:
    module = _module(path)
    rules = [module.no_private_address]
    return compile_policy(
        module.POLICY, python_rules=rules, python_rule_priorities={"no_private_address": 10}, uncompiled="callable"
    )


def _compiled_functions(path: Path) -> PolicyBundle:
    module = _module(path)
    return compile_policy(module.POLICY, python_rules=[module.recipients, module.writes_by_day])


def _generated(path: Path) -> PolicyBundle:
    module = _module(path)
    policy = sum((module.rules_of(tenant) for tenant in module.TENANTS), Policy()) + module.COMMON
    return policy.compile()


def _rules_of_page(path: Path) -> PolicyBundle:
    (block,) = [block for block in blocks_of(path) if block.title == "rules.py"]
    with tempfile.TemporaryDirectory() as directory:  # a rule is compiled from its file
        file = Path(directory) / "page_rules.py"
        file.write_text(block.body, encoding="utf-8")
        return compile_policy({}, python_rules=load_rules(block.body, str(file)).rules)


_WITH_PYTHON: dict[str, Callable[[Path], PolicyBundle]] = {
    "examples/21_python_rules.py": _literal_addresses,
    "examples/23_generated_policy.py": _generated,
    "examples/26_compiled_python_rules.py": _compiled_functions,
    "docs/how-to/write-rules-in-python.md": _rules_of_page,
}
"""Files whose policy has Python rules, or is built, and how it is made."""
