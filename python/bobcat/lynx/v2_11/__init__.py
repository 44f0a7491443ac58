"""lynx-agent 2.11 on Bobcat, in the parts that differ from 2.5: gates, chained audit lines, layers, obligations.

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
from bobcat.lynx.v2_11.core.policy import (
    Combiner,
    LayeredPolicyBundle,
    Policy,
    PolicyLayer,
    allow,
    approve_required,
    compile_policy,
    deny,
    dry_run,
    first_layer_wins,
    last_layer_wins,
    load_policy_file,
    strict_overrides_loose,
    transform,
)
from bobcat.lynx.v2_11.core.scheduler import run_agent
from bobcat.lynx.v2_11.core.types import ActionResult, Budget, Decision, Obligation, ObligationOutcome
from bobcat.lynx.v2_11.decorators import tool
from bobcat.lynx.v2_11.graph import GraphNode, run_graph
from bobcat.lynx.v2_11.integrations import GovernedCall, ToolGuard
from bobcat.lynx.v2_11.sinks import VerifyResult, hash_chained_sink, otel_sink, verify_chain

VERSION = __version__ = "2.11.1"

__all__ = [
    "ActionResult",
    "Budget",
    "Combiner",
    "Compressor",
    "Decision",
    "GovernedCall",
    "GraphNode",
    "LayeredPolicyBundle",
    "Obligation",
    "ObligationOutcome",
    "Policy",
    "PolicyLayer",
    "ToolGuard",
    "VerifyResult",
    "__version__",
    "allow",
    "approve_required",
    "compile_policy",
    "compose_compressors",
    "dedup_compressor",
    "deny",
    "dry_run",
    "external_filter_compressor",
    "first_layer_wins",
    "hash_chained_sink",
    "identity_compressor",
    "last_layer_wins",
    "load_policy_file",
    "otel_sink",
    "route_compressor",
    "run_agent",
    "run_graph",
    "strict_overrides_loose",
    "tool",
    "transform",
    "truncate_compressor",
    "verify_chain",
]
