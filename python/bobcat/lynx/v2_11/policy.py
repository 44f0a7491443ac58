"""Policies, under lynx-agent's path."""

from bobcat.lynx.v2_11.core.policy import compile_policy, load_policy_file

__all__ = ["compile_policy", "load_policy_file"]
