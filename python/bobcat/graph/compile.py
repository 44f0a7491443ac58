"""`compile_graph` and `load_graph_file`: a table of edges in YAML to a `GraphSpec`, or every error in it at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import assert_never

from bobcat.errors import GraphCompileError
from bobcat.graph.model import GraphSpec
from bobcat.ir.schema import Profile


def compile_graph(text: str, source_path: str = "<inline>", *, profile: Profile = "strict") -> GraphSpec:
    """Compile a graph, given as YAML text. See `docs/how-to/handoff-graphs.md` for the language.

    Raises `GraphCompileError` with every finding. The `lynx` profile takes what lynx-agent 2.5 takes: YAML 1.1, unknown
    keys, a start that no edge knows, and patterns of Python's `re`.
    """
    # PERF: YAML and google-re2, which running a graph does not need, are imported here.
    match profile:
        case "strict":
            from bobcat.graph.source import read_graph

            return read_graph(text, source_path)
        case "lynx":
            from bobcat.graph.lynx_source import read_lynx_graph

            return read_lynx_graph(text)
        case _:
            assert_never(profile)


def load_graph_file(path: str | os.PathLike[str], *, profile: Profile = "strict") -> GraphSpec:
    """Compile the graph in a UTF-8 file. Raises `OSError` when it cannot be read."""
    name = os.fspath(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphCompileError(f"{name}: not UTF-8 text: byte {error.start}") from error
    return compile_graph(text, name, profile=profile)
