"""The public names of whichever package is `lynx`, as JSON: exports, parameters, fields and defaults of each module."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from typing import Any

import lynx

_PATHS = """
adapters adapters._schema adapters.anthropic_sdk adapters.crewai_adapter adapters.langgraph_adapter adapters.mcp
adapters.openai_compat adapters.openai_sdk approvals cancel cli cli.main compressors core core.mediator core.policy
core.scheduler core.types decorators durability executors graph integrations integrations.core
integrations.openai_agents policy proxy proxy.mcp_proxy sandbox sdk shadows shadows.filesystem shadows.http
shadows.shell shadows.sql sinks
"""


def parameters(value: Any) -> Any:
    """The parameters of a function: name, kind and default."""
    if inspect.isclass(value) or not callable(value):
        return None
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    return [[each.name, each.kind.name, default(each.default)] for each in found.parameters.values()]


def default(value: Any) -> str:
    text = repr(value)
    return "object" if " at 0x" in text else text


def fields(value: Any) -> Any:
    """The fields of a class of data that its constructor takes by position: name and default."""
    if not (inspect.isclass(value) and dataclasses.is_dataclass(value)):
        return None
    return [[each.name, default(each.default)] for each in dataclasses.fields(value) if each.init and not each.kw_only]


def main() -> None:
    found = {}
    for path in ("", *_PATHS.split()):
        module = importlib.import_module(f"lynx.{path}" if path else "lynx")
        names = sorted(getattr(module, "__all__", ()))
        found[path] = {name: [parameters(getattr(module, name)), fields(getattr(module, name))] for name in names}
    print(json.dumps({"version": lynx.__version__, "modules": found}))


if __name__ == "__main__":
    main()
