"""Calls in a process of their own, under lynx-agent's path."""

from bobcat.sandbox import SandboxError, run_in_subprocess

__all__ = ["SandboxError", "run_in_subprocess"]
