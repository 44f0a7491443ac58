"""Compressors, under lynx-agent's path. A shortened text names lynx, and a text never gets longer."""

from bobcat import compression
from bobcat.compression import (
    Compressor,
    compose_compressors,
    dedup_compressor,
    external_filter_compressor,
    identity_compressor,
    route_compressor,
)

__all__ = [
    "Compressor",
    "compose_compressors",
    "dedup_compressor",
    "external_filter_compressor",
    "identity_compressor",
    "route_compressor",
    "truncate_compressor",
]
MARKER = "\n…[{count} chars elided by lynx truncate_compressor]…\n"


def truncate_compressor(*, max_chars: int = 8000, keep_head_ratio: float = 0.6) -> Compressor:
    """Create a compressor that keeps the beginning and the end of a longer text."""
    return compression.truncate_compressor(max_chars=max_chars, keep_head_ratio=keep_head_ratio, marker=MARKER)
