"""Sinks: where audit events go. A sink is any callable that takes one `AuditEvent`; the user owns what it writes to."""

from bobcat.private_files import private_opener
from bobcat.sinks.base import AnySink, Sink
from bobcat.sinks.combine import callback_sink, multi_sink, noop_sink
from bobcat.sinks.lines import jsonl_sink, stdout_sink

__all__ = ["AnySink", "Sink", "callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "private_opener", "stdout_sink"]
