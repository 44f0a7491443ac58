"""A key that names a facet, `first` or `byte_length` of an argument whose entries the policy reads, too.

What it does: finds keys such as `args.link.url.host` in a policy that also reads an entry of `args.link`.
Why: an argument is a text, a list or a mapping, not two of them. Earlier versions read the name as that of an entry.
Example: `args.link.url.host: example.com` beside `args.link.title: x`.
Use instead: `args.link["url"].host: example.com` for the entry.
Fix: quote the name of an entry; if the facet is intended, ignore the finding with a comment.
"""

from __future__ import annotations

from bobcat.diagnostics.model import Findings
from bobcat.frontend.strict.key_syntax import written
from bobcat.ir.visit import refs
from bobcat.language.facets import FACETS
from bobcat.language.operators import LEADING
from bobcat.lint.subject import LintContext, Path, PlacedLeaf

CODES = ("W0143",)
_NAMES = FACETS.keys() | LEADING


def _deep_paths(item: PlacedLeaf) -> list[Path]:
    """Return the paths that a leaf reads below an argument."""
    if isinstance(item.leaf.operand, dict):
        return [path for path in (item.path, *refs(item.leaf.operand)) if len(path) > 2]
    return [item.path] if len(item.path) > 2 else []


def check(subject: LintContext) -> Findings:
    """Find these keys, once for each path of a rule."""
    rules = subject.testing(_NAMES)
    if not rules:
        return
    long = {path for facts in subject.rules for item in facts.leaves for path in _deep_paths(item)}
    mappings = {path[:length] for path in long for length in range(2, len(path))}
    for facts in rules:
        seen = set()
        for item in facts.leaves:
            if item.leaf.op in _NAMES and item.path in mappings and item.path not in seen:
                seen.add(item.path)
                path = written(item.leaf.head, item.leaf.path)
                quoted = f'{path}["{item.leaf.op}"]'
                yield subject.at_leaf("W0143", facts, item, facet=item.leaf.op, quoted=quoted)
