"""Sources of a policy: named fields of results of calls, and the names that `from` and `asked_with` use for them.

sources:
  directory: {tool: search_contacts, fields: [email], asked_with: task}
  posted: {tool: read_channel, links_in: [body], where: {channel: general}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from bobcat._core import MappingNode, Node, ScalarNode, SequenceNode
from bobcat.diagnostics.model import Related
from bobcat.frontend.report import DiagnosticCollector, shown
from bobcat.frontend.strict.fields import mapping, string, wrong_type
from bobcat.frontend.strict.key_syntax import segment_text
from bobcat.frontend.strict.keys import Key
from bobcat.frontend.strict.marks import file_of, resolved, unqualified
from bobcat.frontend.strict.memory import Lowering, field_steps
from bobcat.frontend.strict.operand_help import as_item
from bobcat.frontend.strict.scopes import Scope
from bobcat.frontend.strict.sizes import Sized
from bobcat.frontend.suggest import closest, listed, synonyms
from bobcat.frontend.yaml.nodes import INVALID_VALUE, Entries, entries, string_of
from bobcat.frontend.yaml.scalars import kind_of_node
from bobcat.ir import construct
from bobcat.ir.canonical import definition_name
from bobcat.ir.memory import TASK
from bobcat.ir.schema import Const, Definition, Source

OPTIONS = ("fields", "links_in", "where", "asked_with", "description")
"""The keys of a source beside its match."""
MAX_SOURCES = 63
"""Sources of one policy; the task is one more."""
MAX_FIELDS = 64
"""Fields of one source."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = (TASK,)
_SYNONYMS = synonyms(
    {
        "fields": "field values columns keys",
        "links_in": "links link_in urls_in links_of",
        "where": "filter when if",
        "asked_with": "asked_by ask_with asked queried_with",
    }
)
_NO_SOURCES = "define it under `sources`: `sources: {directory: {tool: search_contacts, fields: [email]}}`"


@dataclass(slots=True)
class _Named:
    """A source as written; `name` is its name in the IR, empty for one with an error."""

    key: ScalarNode
    body: Node
    done: bool = False
    name: str = ""
    asks: set[str] = field(default_factory=set)


class Sources:
    """The sources of one policy. Methods return None after they have reported an error."""

    def __init__(
        self,
        report: DiagnosticCollector,
        found: Mapping[str, _Named] | None = None,
        definitions: Mapping[str, Definition] | None = None,
    ) -> None:
        self._report = report
        self._found: dict[str, _Named] = dict(found or {})
        self._lowering: Lowering | None = None
        self._stack: list[str] = []
        self._used: set[str] = set()
        self.definitions: dict[str, Definition] = dict(definitions or {})

    def reporting_to(self, report: DiagnosticCollector) -> Sources:
        """Return the same sources, all of them lowered, whose errors are recorded in another report."""
        return Sources(report, self._found, self.definitions)

    @property
    def used(self) -> frozenset[str]:
        """Return the names that conditions use."""
        return frozenset(self._used)

    def define(self, node: Node, lowering: Lowering) -> None:
        """Register the names of the sources. A body is lowered at its first use, or by `lower`."""
        self._lowering = lowering
        help = "write `sources: {directory: {tool: search_contacts, fields: [email]}}`"
        fields = mapping(node, "sources", self._report, help=help)
        for name, (key_node, body) in entries(fields, self._report).items() if fields is not None else ():
            problem = _name_problem(unqualified(name, key_node))
            if problem:
                self._report.add("E1002", key_node, name=shown(name), problem=problem)
                continue
            self._found[name] = _Named(key_node, body)
        if len(self._found) > MAX_SOURCES:
            self._report.add("E1003", node, name="sources", problem=f"has more than {MAX_SOURCES} names")

    def lower(self) -> None:
        """Lower the sources that no condition has used yet."""
        for name in self._found:
            self._name(name)

    def report_unused(self) -> None:
        """Record sources of the policy's own file that no condition uses, directly or through another source."""
        reached: set[str] = set()
        waiting = list(self._used)
        while waiting:
            name = waiting.pop()
            if name in self._found and name not in reached:
                reached.add(name)
                waiting.extend(self._found[name].asks)
        for name, source in self._found.items():
            if name not in reached and file_of(source.key) is None:
                self._report.observe("unused-source", source.key, name=name)

    def operand(self, node: Node, key: Key) -> Const:
        """Lower the operand of `from`: the name of a source, or a list of them."""
        entry = (
            f"; for an entry called `{key.op}`, write `{key.base}{segment_text(key.op)}`" if key.head == "args" else ""
        )
        written = self._names(node, f"{key.base}.{key.op}", entry)
        if written is None:
            return INVALID_VALUE
        self._used.update(written)
        names = [self._name(name) for name in written]
        return construct.sources(names) if all(names) else INVALID_VALUE

    def _names(self, node: Node, where: str, entry: str = "") -> list[str] | None:
        """Return the names that `node` lists, all of them known; `entry` ends the help about an unknown one."""
        items = list(node.value) if isinstance(node, SequenceNode) else [node]
        if not items:
            self._report.add("E0409", node, op=where.rpartition(".")[2])
            return None
        found: list[str] = []
        for item in items:
            name = string_of(item, self._report)
            if name is None:
                kind = kind_of_node(item)
                help = "write the name of a source, or `task` for the user's own text"
                if isinstance(item, MappingNode):
                    help = "`from` takes names of sources; to compare with another path, write `occurs_in` or `in`"
                wrong_type(item, where, "names of sources", self._report, kind=kind, help=help)
                return None
            name = resolved(name, item, self._found)
            if name != TASK and name not in self._found:
                self._report.add("E1001", item, name=shown(name), help=self._suggestion(name, entry))
                return None
            found.append(name)
        return found

    def _suggestion(self, name: str, entry: str) -> str:
        if name == "context.task":
            return f"write `{TASK}` for the user's own text"
        near = closest(name, (*self._found, TASK))
        if near is not None:
            return f"did you mean `{near}`?"
        known = f"the sources are {listed((TASK, *self._found))}" if self._found else _NO_SOURCES
        return known + entry

    def _name(self, name: str) -> str:
        """Return the name of a source in the IR; empty if it has an error."""
        if name == TASK:
            return TASK
        source = self._found[name]
        if not source.done and self._lowering is not None:
            if name in self._stack:
                cycle = [*self._stack[self._stack.index(name) :], name]
                related = [Related(self._report.span(source.key), f"`{shown(name)}` is defined here")]
                chain = " -> ".join(f"`{shown(step)}`" for step in cycle)
                self._report.add("E1004", source.key, name=shown(name), chain=chain, related=related)
                return ""
            self._stack.append(name)
            found = self._source(name, source)
            self._stack.pop()
            source.done = True
            if found is not None:
                source.name = definition_name(found, name)
                self.definitions[source.name] = found
        return source.name

    def _source(self, name: str, source: _Named) -> Source | None:
        title = f"the source `{shown(name)}`"
        help = "write `{tool: search_contacts, fields: [email]}`"
        node = mapping(source.body, name, self._report, help=help)
        if node is None or self._lowering is None:
            return None
        fields = entries(node, self._report)
        if self._misnamed(title, fields):
            return None
        of = self._of(title, node, fields)
        paths = self._fields(name, title, source.key, fields)
        where, valid = None, True
        if "where" in fields:
            where = self._lowering.definition(fields["where"][1], "`where`", Scope.RECORD)
            valid = where is not None
        asked = self._asked(source, fields)
        if "description" in fields:
            valid = string(fields["description"][1], "description", self._report) is not None and valid
        if of is None or paths is None or asked is None or not valid:
            return None
        links = "links_in" in fields
        return Source(of[0], paths, links, UNSET if where is None else where[0], asked)

    def _misnamed(self, title: str, fields: Entries) -> bool:
        """Report the entries that are other names of options."""
        found = [key for key in fields if key not in OPTIONS and key.lower() in _SYNONYMS]
        for key in found:
            help = f"did you mean `{_SYNONYMS[key.lower()]}`?"
            self._report.add("E0202", fields[key][0], where=title, key=shown(key), known=listed(OPTIONS), help=help)
        return bool(found)

    def _of(self, title: str, node: MappingNode, fields: Entries) -> Sized | None:
        """Lower the match of the calls whose results count: all entries but the options."""
        items = [entry for key, entry in fields.items() if key not in OPTIONS]
        if not items:
            place = node.value[0][0] if node.value else node
            help = "name the tool whose results count: `tool: search_contacts`"
            self._report.add("E0203", place, where=title, key="tool", help=help)
            return None
        match = MappingNode("", items, node.start_mark, node.end_mark, flow_style=node.flow_style)
        if self._lowering is None:
            return None
        return self._lowering.definition(match, title, Scope.DEFINITION)

    def _fields(
        self, name: str, title: str, key_node: ScalarNode, fields: Entries
    ) -> tuple[tuple[str, ...], ...] | None:
        if "fields" in fields and "links_in" in fields:
            self._report.add("E1003", fields["links_in"][0], name=shown(name), problem="has `fields` and `links_in`",
                             help="write two sources, one for the values and one for the links")  # fmt: skip
            return None
        key = "links_in" if "links_in" in fields else "fields"
        if key not in fields:
            help = "name the fields whose values count: `fields: [email]`; for links in a text, `links_in: [body]`"
            self._report.add("E0203", key_node, where=title, key="fields", help=help)
            return None
        node = fields[key][1]
        if isinstance(node, ScalarNode):
            self._report.add("E0207", node, key=key, kind=kind_of_node(node), value=as_item(node))
            return None
        if not isinstance(node, SequenceNode):
            wrong_type(node, key, "a list of names of fields", self._report)
            return None
        if not node.value:
            self._report.add("E0409", node, op=key)
            return None
        if len(node.value) > MAX_FIELDS:
            self._report.add("E1003", node, name=shown(name), problem=f"has more than {MAX_FIELDS} fields")
            return None
        found = [field_steps(item, key, self._report) for item in node.value]
        paths = [path for path in found if path is not None]
        return tuple(sorted(set(paths))) if len(paths) == len(found) else None

    def _asked(self, source: _Named, fields: Entries) -> tuple[str, ...] | None:
        if "asked_with" not in fields:
            return ()
        written = self._names(fields["asked_with"][1], "asked_with")
        if written is None:
            return None
        source.asks.update(written)
        names = [self._name(name) for name in written]
        return tuple(sorted(set(names))) if all(names) else None


def _name_problem(name: str) -> str | None:
    if name in RESERVED:
        return "it is the user's own text"
    if not NAME.fullmatch(name):
        return "a name has letters, digits and `_`, and begins with a letter"
    return None
