"""Sinks that lynx-agent 2.11 has beside those of 2.5."""

from bobcat.lynx.v2_11.hash_chain import GENESIS_HASH, VerifyResult, hash_chained_sink, verify_chain
from bobcat.lynx.v2_11.otel import otel_sink

__all__ = ["GENESIS_HASH", "VerifyResult", "hash_chained_sink", "otel_sink", "verify_chain"]
