"""The modules of the Rust core form layers: a file uses its own layer and those below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "rust" / "core" / "src"
# From the bottom up. Modules of one layer may use one another.
LAYERS = (
    ("limits", "chars", "source"),
    ("error",),
    ("budget",),
    ("lang", "bytes", "num"),
    # Occurrence of values in texts.
    ("text",),
    ("value",),
    ("json",),
    ("regex",),
    # Texts parsed to what they mean; `clause` asks.
    ("facets",),
    ("clause",),
    # Functions as code: what the decoder builds.
    ("pyfn",),
    ("ir",),
    # The index of a program, which holds it.
    ("index",),
    ("program",),
    # From the IR to a program, and from rules to their index.
    ("compile",),
    # Functions as they run.
    ("pyfn::interp", "pyfn::builtins", "pyfn::inline_eval", "pyfn::fast_path"),
    ("eval",),
    # What a run has done, by the definitions of a policy.
    ("memory",),
    # Questions about all requests, of the feature `analysis`.
    ("analysis::theory",),
    ("analysis",),
    # What is read from a file, and a decision in words.
    ("bundle", "decision"),
    # The names of the published crate.
    ("policy",),
)
LEVELS = {module: level for level, modules in enumerate(LAYERS) for module in modules}
_COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"')
_PATH = re.compile(r"\b(?:crate|super(?:::super)*)(?:::\w+)*(?:::\{[^;]*\})?")
_CHILD = re.compile(r"^(?:pub(?:\([^)]*\))? )?use ([a-z_]\w*)(?:::\w+)*(?:::\{[^;]*\})?", re.MULTILINE)


def module_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def level_of(module: tuple[str, ...]) -> int | None:
    """The level of the longest known prefix of a path."""
    for length in range(len(module), 0, -1):
        level = LEVELS.get("::".join(module[:length]))
        if level is not None:
            return level
    return None


def leaves(tree: str) -> list[tuple[str, ...]]:
    """The paths of a use tree."""
    head, brace, inner = tree.partition("{")
    prefix = tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        return [prefix]
    found, depth, part = [], 0, ""
    for char in inner.rsplit("}", 1)[0] + ",":
        if char == "," and depth == 0:
            found += [(*prefix, *leaf) for leaf in leaves(part) if leaf]
            part = ""
            continue
        depth += (char == "{") - (char == "}")
        part += char
    return found


def used_by(path: Path) -> list[tuple[str, ...]]:
    """The absolute module paths that a file names in code, its tests left out."""
    code = _COMMENTS_AND_TEXTS.sub("", path.read_text(encoding="utf-8"))
    code = code.split("#[cfg(test)]\nmod tests")[0]
    module, found = module_of(path), []
    for match in _PATH.finditer(code):
        for leaf in leaves(match.group()):
            at, rest = (), leaf[1:]
            if leaf[0] == "super":
                above = next(index for index, name in enumerate((*leaf, "")) if name != "super")
                at, rest = module[: len(module) - above], leaf[above:]
            found.append((*at, *rest))
    for match in _CHILD.finditer(code):
        if (
            SOURCES.joinpath(*module, match.group(1)).with_suffix(".rs").exists()
            or SOURCES.joinpath(*module, match.group(1)).is_dir()
        ):
            found += [(*module, *leaf) for leaf in leaves(match.group(0).split("use ", 1)[1])]
    return found


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.rs")), ids=lambda path: "::".join(module_of(path)) or "lib")
def test_a_module_uses_no_layer_above_its_own(path: Path) -> None:
    module = module_of(path)
    if not module:
        return
    own = level_of(module)
    assert own is not None, f"no layer is known for {'::'.join(module)}"
    above = {"::".join(used) for used in used_by(path) if (level_of(used) or 0) > own}
    assert above == set()


def test_a_use_of_a_layer_above_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCES", tmp_path)
    file = tmp_path / "value" / "mod.rs"
    file.parent.mkdir()
    file.write_text("//! `crate::eval::Doc`\nuse crate::{lang::Verdict, regex::{Dialect, single}};\nuse super::json;\n")
    assert used_by(file) == [("lang", "Verdict"), ("regex", "Dialect"), ("regex", "single"), ("json",)]
