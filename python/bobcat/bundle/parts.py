"""The parts of a compiled policy besides its program.

A worker that only evaluates decodes none of them: this module loads no decoder before a part is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import dataclass, field
    from typing import Any, Protocol

    from bobcat.bundle.host_code import HostFunction
    from bobcat.bundle.manifest import Manifest
    from bobcat.bundle.source_map import SourceMap
    from bobcat.diagnostics.model import Diagnostic

    class LynxId(Protocol):
        """Computes the id that lynx-agent gives a policy. Raises `ValueError` for a policy without one."""

        def __call__(self, *, obligations: bool = False) -> str:
            """Return the id of lynx-agent 2.5; with `obligations`, of 2.11."""
else:
    from bobcat.model.light_dataclass import Factory as field
    from bobcat.model.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BundleParts:
    """The parts of a bundle besides the program. `digest` is that of the policy, in hexadecimal.

    `section`, the manifest, and `source_map` and `sources` are bytes until they are needed. `signed` and `signatures`
    are the signed message and the signatures of the bundle file, `layer_signatures` those of its layers.
    """

    ir: bytes
    digest: str
    host_rules: tuple[HostFunction, ...]
    section: Manifest | bytes
    source_map: SourceMap | bytes | None
    sources: Mapping[str, str] | bytes = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    lynx_id: LynxId | None = None
    signed: bytes = b""
    signatures: bytes = b""
    layer_signatures: bytes = b""
    cache: dict[str, Any] = field(default_factory=dict)  # Any: each property keeps its own type under its own name

    @property
    def manifest(self) -> Manifest:
        """Return the metadata of the bundle, decoded on first use."""
        if not isinstance(self.section, bytes):
            return self.section
        from bobcat.bundle.manifest import decode_manifest

        found: Manifest | None = self.cache.get("manifest")
        if found is None:
            found = self.cache["manifest"] = decode_manifest(self.section)
        return found
