"""Sinks: receivers of audit events. A sink is any callable that takes one `AuditEvent`; the user owns its output."""

from bobcat.sinks.base import AnySink, Sink
from bobcat.sinks.combine import callback_sink, multi_sink, noop_sink
from bobcat.sinks.lines import jsonl_sink, stdout_sink
from bobcat.stores.private_files import private_opener

__all__ = ["AnySink", "Sink", "callback_sink", "jsonl_sink", "multi_sink", "noop_sink", "private_opener", "stdout_sink"]
