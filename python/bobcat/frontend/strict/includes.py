"""Included files: the documents of a policy, in the order in which their rules are decided.

include:
  - common/network.yaml
  - {file: teams/pay.yaml, prefix: pay}

A file that is included comes before the file that includes it. Its definitions and rules become part of the policy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Related, Span
from bobcat.frontend.files import IncludedFile, PolicyFiles, UnusableFile
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import check_keys, string, wrong_type
from bobcat.frontend.strict.marks import in_file
from bobcat.frontend.yaml.encoding import decode
from bobcat.frontend.yaml.nodes import entries
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.frontend.yaml.source import MAX_CHARACTERS, compose

MAX_FILES = 200
"""Files that one policy includes."""
PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_HELP = "write `include: [common.yaml]`"


class Part(NamedTuple):
    """One document of a policy: its file, its text if that is known, and its root."""

    file: str
    text: str | None
    root: Node


@dataclass(frozen=True, slots=True)
class _Seen:
    prefix: str
    place: Span


class Includes:
    """The documents of one policy. Errors are in the report."""

    def __init__(self, report: DiagnosticCollector, files: PolicyFiles | None) -> None:
        self._report = report
        self._files = files
        self._seen: dict[str, _Seen] = {}
        self._stack: list[IncludedFile] = [] if files is None else [files.entry]
        self._characters = 0
        self._parts: list[Part] = []

    def parts(self, root: Node, text: str | None) -> list[Part]:
        """Return the documents that a policy consists of, itself the last one."""
        self._follow(root, self._report.file)
        return [*self._parts, Part(self._report.file, text, root)]

    def _follow(self, root: Node, file: str) -> None:
        """Read the files that a document includes, in order."""
        node = section(root, "include")
        if node is None:
            return
        if self._files is None:
            self._report.add("E1201", node)
            return
        if not isinstance(node, SequenceNode):
            wrong_type(node, "include", "a list of files", self._report, help=_HELP)
            return
        for item in node.value:
            if self._report.full:
                return
            named = self._named(item)
            if named is not None:
                self._include(self._files, file, *named)

    def _named(self, node: Node) -> tuple[Node, str, str] | None:
        """Return the node of a path, the path, and the prefix."""
        if not isinstance(node, MappingNode):
            if not isinstance(node, ScalarNode):
                wrong_type(node, "include", "a list of files", self._report, help=_HELP)
                return None
            text = string(node, "include", self._report)
            return None if text is None else (node, text, "")
        found = entries(node, self._report)
        if check_keys(found, ("file", "prefix"), "an included file", self._report):
            return None
        if "file" not in found:
            self._report.add("E0203", node, where="an included file", key="file", help="write `{file: common.yaml}`")
            return None
        place = found["file"][1]
        path = string(place, "file", self._report)
        prefix = string(found["prefix"][1], "prefix", self._report) if "prefix" in found else ""
        if path is None or prefix is None:
            return None
        if "prefix" in found and not PREFIX.fullmatch(prefix):
            help = "a prefix has letters, digits, `_` and `-`, and begins with a letter"
            kind = "an empty string" if not prefix else f"`{shown(prefix)}`"
            wrong_type(found["prefix"][1], "prefix", "a name", self._report, kind=kind, help=help)
            return None
        return place, path, prefix

    def _include(self, files: PolicyFiles, including: str, place: Node, written: str, prefix: str) -> None:
        try:
            file = files.find(written, including)
            if self._is_repeated(file, place, prefix):
                return
            self._seen[file.path] = _Seen(prefix, self._report.span(place))
            if len(self._seen) > MAX_FILES:
                raise UnusableFile(f"the policy includes more than {MAX_FILES} files")
            text, bad = files.read(file)
            self._characters += len(text)
            if self._characters > MAX_CHARACTERS:
                raise UnusableFile(f"the included files have more than {MAX_CHARACTERS:,} characters")
        except UnusableFile as problem:
            self._report.add("E1202", place, file=shown(written), problem=str(problem), help=problem.help)
            return
        self._report.texts[file.name] = text
        if bad is not None:
            self._report.append(bad)
            return
        root = self._composed(text, file)
        if root is None:
            return
        root = in_file(root, file.name, prefix)
        self._stack.append(file)
        self._follow(root, file.name)
        self._stack.pop()
        self._parts.append(Part(file.name, text, root))

    def _composed(self, text: str, file: IncludedFile) -> Node | None:
        own = DiagnosticCollector(file.name)
        root = compose(text, own)
        if root is None and not own.has_errors():
            own.add("E0201", Span(file.name, 1, 1, 1, 2), kind="an empty document")
        for item in own.diagnostics():
            self._report.append(item)
        if root is not None and not isinstance(root, MappingNode):
            own.add("E0201", root, kind=kind_of_node(root))
            self._report.append(own.diagnostics()[-1])
            return None
        return None if own.has_errors() else root

    def _is_repeated(self, file: IncludedFile, place: Node, prefix: str) -> bool:
        """Return true for a file that is part of the policy already; report a cycle, and another prefix."""
        paths = [each.path for each in self._stack]
        if file.path in paths:
            at = paths.index(file.path)
            chain = " -> ".join(f"`{shown(each.name)}`" for each in (*self._stack[at:], file))
            first = [] if file.path not in self._seen else [self._seen[file.path].place]
            related = [Related(span, f"`{shown(file.name)}` is included here") for span in first]
            self._report.add("E1203", place, file=shown(file.name), chain=chain, related=related)
            return True
        seen = self._seen.get(file.path)
        if seen is not None and seen.prefix != prefix:
            one, other = (f"the prefix `{each}`" if each else "no prefix" for each in (prefix, seen.prefix))
            related = [Related(seen.place, "the first one is here")]
            self._report.add("E1204", place, file=shown(file.name), one=one, other=other, related=related)
        return seen is not None


def section(root: Node, name: str) -> Node | None:
    """Return the value of a key of a document; None without one."""
    if isinstance(root, MappingNode):
        for key, item in root.value:
            if isinstance(key, ScalarNode) and key.value == name:
                return item  # type: ignore[no-any-return]  # the composer's own nodes
    return None


def included_files(path: str, root: str | None = None) -> tuple[str, ...]:
    """Return the files that the policy at `path` includes, as far as they can be read; they are not compiled.

    `root` is that of `PolicyFiles`.
    """
    try:
        with open(path, "rb") as opened:
            data = opened.read()
    except (OSError, ValueError):
        return ()
    text, bad = decode(data, path)
    if bad is not None or not re.search(r"^[{\s\"']*include\b", text, re.MULTILINE):
        return ()
    report = DiagnosticCollector(path)
    document = compose(text, report)
    if document is not None:
        Includes(report, PolicyFiles(path, root)).parts(document, text)
    return tuple(report.texts)
