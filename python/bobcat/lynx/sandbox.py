"""Calls in separate processes, under lynx-agent's path."""

from bobcat.executors.sandbox import SandboxError, run_in_subprocess

__all__ = ["SandboxError", "run_in_subprocess"]
