"""Sinks, under lynx-agent's path."""

from bobcat.sinks import Sink, callback_sink, jsonl_sink, multi_sink, noop_sink, stdout_sink

__all__ = ["Sink", "callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "stdout_sink"]
