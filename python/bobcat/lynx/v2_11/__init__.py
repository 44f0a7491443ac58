"""lynx-agent 2.11 on Bobcat, in the parts that differ from 2.5: gates of frameworks and MCP, chained audit lines.

`bobcat.lynx.install(version="2.11")` adds them to `lynx` and `bobcat.lynx`, under lynx-agent's module paths; this
package has them without. `docs/migrating-from-lynx.md` lists the differences from lynx-agent.
"""

from bobcat.lynx.v2_11.compressors import (
    Compressor,
    compose_compressors,
    dedup_compressor,
    external_filter_compressor,
    identity_compressor,
    route_compressor,
    truncate_compressor,
)
from bobcat.lynx.v2_11.core.policy import compile_policy, load_policy_file
from bobcat.lynx.v2_11.core.scheduler import run_agent
from bobcat.lynx.v2_11.core.types import Budget
from bobcat.lynx.v2_11.decorators import tool
from bobcat.lynx.v2_11.graph import GraphNode
from bobcat.lynx.v2_11.integrations import GovernedCall, ToolGuard
from bobcat.lynx.v2_11.sinks import VerifyResult, hash_chained_sink, otel_sink, verify_chain

VERSION = __version__ = "2.11.1"

__all__ = [
    "Budget",
    "Compressor",
    "GovernedCall",
    "GraphNode",
    "ToolGuard",
    "VerifyResult",
    "__version__",
    "compile_policy",
    "compose_compressors",
    "dedup_compressor",
    "external_filter_compressor",
    "hash_chained_sink",
    "identity_compressor",
    "load_policy_file",
    "otel_sink",
    "route_compressor",
    "run_agent",
    "tool",
    "truncate_compressor",
    "verify_chain",
]
