"""Kinds of values and forms of operands: the types in which rows of operators and paths are written."""

from __future__ import annotations

from enum import Enum


class OperandKind(Enum):
    """The declared type of the value at a path. The enum value is its name with an article."""

    ANY = "a value of any type"
    STRING = "a string"
    NULLABLE_STRING = "a string or null"
    BOOL = "a bool"
    NUMBER = "a number"
    NULLABLE_NUMBER = "a number or null"
    STRINGS = "a list of strings"
    MAPPING = "a mapping"
    TIME = "a point in time"
    COUNT = "a number of characters or items"
    LOWER = "a string in lower case"
    HOST = "the name of a host"
    URL = "a URL"
    ADDRESS = "an IP address"
    NETWORK = "a network of IP addresses"
    FILE_PATH = "the path of a file"
    EMAIL = "an address of mail"
    VERSION = "a version"
    DOCUMENT = "a value of a JSON document"
    SCRIPT = "the commands of a command line"
    COMMAND = "a command"
    STATEMENT = "a statement of SQL"

    __hash__ = object.__hash__  # PERF: members are singletons; the inherited hash is a Python call


class OperandForm(Enum):
    """The operand of an operator as written in a policy."""

    VALUE = "any value"
    SCALARS = "a list of values"
    PART = "a part, an element or a key"
    PARTS = "a list of parts, elements or keys"
    SOME_PARTS = "a list of parts, elements or keys that is not empty"
    BOUND = "a number, a string or a point in time"
    BOUNDS = "two bounds"
    TEXTS = "a string, or a list of strings that is not empty"
    PLACES = "a string, a path, or a list of them that is not empty"
    PATTERN = "a pattern"
    GLOB = "a glob"
    BOOL = "a bool"
    SOURCES = "names of sources"
    TESTS = "operators that test a derived value"

    __hash__ = object.__hash__  # PERF: as above


class ReferenceForm(Enum):
    """The values at another path that an operator compares with."""

    SAME = "a value of the same kind"
    LIST = "a list"
    TEXT = "a string"
    PART = "a single value"
