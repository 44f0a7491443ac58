"""The facets: values that are parsed from texts, and the parts that policies test.

A text that a facet cannot parse with certainty makes its clause an error. `rust/core/src/facets` parses; a test
compares its tables with these.
"""

from __future__ import annotations

from dataclasses import dataclass

from bobcat.language import probes
from bobcat.language.kinds import OperandForm, OperandKind
from bobcat.language.operators import NESTING, OPERATORS, OperatorSpec


@dataclass(frozen=True, slots=True)
class PartSpec:
    """One part of a derived value: the type of its values, and a text of the facet that has one of them."""

    kind: OperandKind
    doc: str
    template: str = ""


@dataclass(frozen=True, slots=True)
class FacetSpec:
    """One facet.

    * `kind`: the type of the value that it derives; `core`: its name in the core.
    * `operators`: the operators before which the name is a facet, beside the parts.
    * `sample`: a text that it accepts; `ranges`: texts within a range.
    """

    name: str
    kind: OperandKind
    core: str
    doc: str
    sample: str
    operators: frozenset[str] = frozenset()


GROUPS = ("all_of", "any_of", "not")
"""The connectives of tests of an element."""
RANGE = "within"
"""The operator that tests ranges: domains, networks, directories."""
PART = "part"
"""The operator of the IR that leads from a value to a part."""
_RANGES = frozenset((RANGE,))
_COMMANDS = frozenset("any all none length".split())
_LINKS = frozenset("any all none first length contains contains_any contains_all empty subset_of".split())
_ORDER = frozenset("eq in not_in gt ge lt le between not_between".split())
SPELLINGS = {"gte": "ge", "lte": "le"}
"""Spellings of operators that only follow a facet with an order."""

ROWS = (
    FacetSpec("url", OperandKind.URL, "url", "an absolute URL", "https://example.com/"),
    FacetSpec("path", OperandKind.FILE_PATH, "path", "the path of a file", "/srv/file.txt", _RANGES),
    FacetSpec("ip", OperandKind.ADDRESS, "address", "an IP address", "192.0.2.1", _RANGES),
    FacetSpec("cidr", OperandKind.NETWORK, "network", "a network of IP addresses", "192.0.2.0/24", _RANGES),
    FacetSpec("email", OperandKind.EMAIL, "email", "one address of mail", "a@example.com"),
    FacetSpec("semver", OperandKind.VERSION, "version", "a semantic version", "1.2.3", _ORDER),
    FacetSpec("shell", OperandKind.SCRIPT, "script", "a command line of a POSIX shell", "ls -l", _COMMANDS),
    FacetSpec(
        "links",
        OperandKind.STRINGS,
        "texts",
        "the links in a text",
        "see https://example.com/",
        _LINKS,
    ),
    FacetSpec("sql", OperandKind.STATEMENT, "statement", "a statement of SQL", "SELECT a FROM b"),
    FacetSpec("json", OperandKind.DOCUMENT, "document", "a JSON document in a text", '{"key": 1}'),
)
"""All facets, in display order."""
FACETS: dict[str, FacetSpec] = {row.name: row for row in ROWS}
"""The facets by name."""

_TEXT, _BOOL, _NUMBER = OperandKind.STRING, OperandKind.BOOL, OperandKind.NUMBER
_PRIVATE = PartSpec(_BOOL, "not a public host: private, loopback, link-local, shared, metadata, reserved")
_IP_VERSION = PartSpec(_NUMBER, "4 or 6")
PARTS: dict[OperandKind, dict[str, PartSpec]] = {
    OperandKind.URL: {
        "scheme": PartSpec(_TEXT, "in lower case", "{}://example.com/"),
        "host": PartSpec(
            OperandKind.HOST,
            "the name in ASCII and lower case, without a dot at the end, or the address; absent without a host",
            "https://{}/",
        ),
        "port": PartSpec(_NUMBER, "the port written, or that of the scheme; absent without either",
                         "https://example.com:{}/"),
        "path": PartSpec(_TEXT, "the path as written", "https://example.com{}"),
        "query_keys": PartSpec(OperandKind.STRINGS, "the names of the query's parameters, decoded, in order"),
        "userinfo": PartSpec(_TEXT, "what is before `@`; absent without it", "https://{}@example.com/"),
        "is_ip": PartSpec(_BOOL, "the host is an address"),
        "is_private": PartSpec(_BOOL, "the host is an address that is not public, or a name of this network"),
    },
    OperandKind.ADDRESS: {
        "address": PartSpec(_TEXT, "the canonical text", "{}"),
        "version": _IP_VERSION,
        "is_private": _PRIVATE,
        "is_loopback": PartSpec(_BOOL, "this machine"),
        "is_link_local": PartSpec(_BOOL, "this link"),
        "is_metadata": PartSpec(_BOOL, "a service that gives credentials to every process of the machine"),
    },
    OperandKind.NETWORK: {
        "address": PartSpec(_TEXT, "the first address", "{}/32"),
        "prefix": PartSpec(_NUMBER, "the length of the prefix in bits", "0.0.0.0/{}"),
        "version": _IP_VERSION,
        "is_private": PartSpec(_BOOL, "some address is not that of a public host"),
    },
    OperandKind.FILE_PATH: {
        "components": PartSpec(OperandKind.STRINGS, "the names between the slashes"),
        "name": PartSpec(_TEXT, "the last component", "/srv/{}"),
        "suffix": PartSpec(_TEXT, "the end of the name from its last dot on, or nothing", "/srv/file{}"),
        "is_absolute": PartSpec(_BOOL, "the path begins with `/`"),
    },
    OperandKind.EMAIL: {
        "local": PartSpec(_TEXT, "what is before `@`", "{}@example.com"),
        "domain": PartSpec(OperandKind.HOST, "the domain in its ASCII form and lower case", "a@{}"),
    },
    OperandKind.COMMAND: {
        "program": PartSpec(_TEXT, "the program: a bare name, or the path as written", "{}"),
        "name": PartSpec(_TEXT, "the last component of the program", "{}"),
        "first": PartSpec(_TEXT, "the first argument; absent without arguments", "git {}"),
        "argv": PartSpec(OperandKind.STRINGS, "the arguments, if a shell expands none of them"),
        "effect": PartSpec(_TEXT, "`read`, `write`, `network`, `run` or `unknown`, if it has one only"),
        "effects": PartSpec(OperandKind.STRINGS, "all effects"),
        "via": PartSpec(OperandKind.STRINGS, "the launchers in front, the nearest first"),
        "assigns": PartSpec(OperandKind.STRINGS, "the names of the variables that are assigned in front"),
    },
    OperandKind.STATEMENT: {
        "kind": PartSpec(_TEXT, "the kind, if it has one only: `select`, `insert`, `update`, `delete`, `create`, ..."),
        "kinds": PartSpec(
            OperandKind.STRINGS, "the kinds of writes, those in common table expressions included; `select` without any"
        ),
        "tables": PartSpec(OperandKind.STRINGS, "all tables, as qualified there, in lower case"),
        "table_names": PartSpec(OperandKind.STRINGS, "all tables, without qualifiers"),
        "reads": PartSpec(OperandKind.STRINGS, "the tables that are read"),
        "writes": PartSpec(OperandKind.STRINGS, "the tables that are written"),
        "functions": PartSpec(OperandKind.STRINGS, "all functions, as qualified there, in lower case"),
        "function_names": PartSpec(OperandKind.STRINGS, "all functions, without qualifiers"),
        "unknown_functions": PartSpec(
            OperandKind.STRINGS, "the functions that are not known to read and change nothing but their arguments"
        ),
        "statements": PartSpec(_NUMBER, "1: several statements are undecidable"),
        "is_read_only": PartSpec(_BOOL, "a query whose functions are all known to read and change nothing"),
    },
    OperandKind.VERSION: {
        "major": PartSpec(_NUMBER, "the first number", "{}.0.0"),
        "minor": PartSpec(_NUMBER, "the second number", "1.{}.0"),
        "patch": PartSpec(_NUMBER, "the third number", "1.0.{}"),
        "prerelease": PartSpec(_TEXT, "what follows `-`, or nothing", "1.0.0-{}"),
    },
}  # fmt: skip
"""The parts of each type that has any. A document has every key for a part."""

CORE_KINDS = {row.kind: row.core for row in ROWS if row.operators & (_RANGES | _ORDER)} | {OperandKind.HOST: "host"}
"""The types that have a canonical form of their operands, by their names in the core."""


ELEMENTS = {OperandKind.STRINGS: OperandKind.STRING, OperandKind.SCRIPT: OperandKind.COMMAND}
"""The types of the elements of lists, where they differ from that of the list."""


def kind_at(kind: OperandKind, path: tuple[str, ...]) -> OperandKind | None:
    """Return the type of a part; None if there is no such part."""
    for name in path:
        if kind is OperandKind.DOCUMENT:
            return kind
        part = PARTS.get(kind, {}).get(name)
        if part is None:
            return None
        kind = part.kind
    return kind


_FACET_ROWS = (
    *(
        OperatorSpec(
            row.name, OperandForm.TESTS,
            frozenset((OperandKind.ANY, OperandKind.STRING, OperandKind.NULLABLE_STRING, OperandKind.DOCUMENT)),
            derived=row.kind, types=("string",),
        )
        for row in ROWS
    ),
    OperatorSpec(
        PART, OperandForm.TESTS, frozenset((*PARTS, OperandKind.DOCUMENT, OperandKind.ANY)),
        derived=OperandKind.ANY,
    ),
    *(
        OperatorSpec(
            name, OperandForm.TESTS, frozenset((OperandKind.ANY, OperandKind.STRING, OperandKind.DOCUMENT)),
            derived=OperandKind.ANY,
        )
        for name in GROUPS
    ),
    OperatorSpec(
        RANGE, OperandForm.TEXTS,
        frozenset((OperandKind.HOST, OperandKind.ADDRESS, OperandKind.NETWORK, OperandKind.FILE_PATH)),
        probes.affix(start=True), unordered=True, single=RANGE, types=("string",),
    ),
)  # fmt: skip
IR_OPERATORS: dict[str, OperatorSpec] = OPERATORS | {row.name: row for row in _FACET_ROWS}
"""The operators of the IR: those of keys, the facets, `part` and `within`."""
IR_NESTING = NESTING | {row.name for row in _FACET_ROWS if row.nests}
"""Operators of the IR whose operand is tests of a derived value."""
