"""lynx-agent 2.5 on Bobcat: its names, module paths, defaults and behaviour, implemented with the parts of `bobcat`.

Change `from lynx import ...` to `from bobcat.lynx import ...`, or change nothing: after `bobcat.lynx.install()` the
name `lynx` refers to this package, and `python -m bobcat.lynx script.py` runs a script that way. The remaining
differences are listed in `docs/migrating-from-lynx.md`.
"""

# ruff: noqa: F403 - each module lists its public names
from bobcat.lynx import approvals, cancel, decorators, durability, executors, graph, sinks
from bobcat.lynx.approvals import *
from bobcat.lynx.cancel import *
from bobcat.lynx.core import types
from bobcat.lynx.core.scheduler import run_agent
from bobcat.lynx.core.types import *
from bobcat.lynx.decorators import *
from bobcat.lynx.durability import *
from bobcat.lynx.executors import *
from bobcat.lynx.graph import *
from bobcat.lynx.installing import install as install
from bobcat.lynx.installing import uninstall as uninstall
from bobcat.lynx.policy import (
    PolicyBundle,
    allow,
    approve_required,
    compile_policy,
    deny,
    dry_run,
    load_policy_file,
    transform,
)
from bobcat.lynx.sdk import Agent, AgentAction
from bobcat.lynx.sinks import *

__version__ = "2.5.0"

__all__ = [
    "Agent",
    "AgentAction",
    "PolicyBundle",
    "__version__",
    "allow",
    "approve_required",
    "compile_policy",
    "deny",
    "dry_run",
    "load_policy_file",
    "run_agent",
    "transform",
]
__all__ += approvals.__all__
__all__ += cancel.__all__
__all__ += decorators.__all__
__all__ += durability.__all__
__all__ += executors.__all__
__all__ += graph.__all__
__all__ += sinks.__all__
__all__ += types.__all__
for _name in ("canonical_json", "new_correlation_id", "now_utc"):
    __all__.remove(_name)  # noqa: PYI056
