"""A policy bundle in memory: the program that decides, with everything that is known about it.

The compiler makes one with `PolicyBundle.from_policy`, `bobcat.bundle.load` from a file. The IR is decoded to Python
only when someone asks for it: deciding needs the Rust program alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from bobcat import _core
from bobcat.bundle import file
from bobcat.bundle.manifest import (
    Manifest,
    checked_epoch,
    decode_source_map,
    decode_sources,
    encode_section,
    portable,
)
from bobcat.bundle.source_map import SourceMap
from bobcat.errors import BundleError
from bobcat.ir import canonical
from bobcat.ir.schema import HostRule, Policy, Rule
from bobcat.model import Verdict

if TYPE_CHECKING:
    from bobcat.bundle.explanation import Explanation
    from bobcat.bundle.host_code import HostFunction
    from bobcat.diagnostics import Diagnostic, Span
    from bobcat.model import ActionRequest, ExecutionContext


class PolicyDefaults(msgspec.Struct, frozen=True):
    """What happens when no rule decides, and when a rule cannot be judged."""

    on_missing_shadow: Verdict = Verdict.APPROVE_REQUIRED
    on_no_match: Verdict = Verdict.DENY
    on_rule_error: Literal["deny", "continue"] = "deny"


class RuleView(msgspec.Struct, frozen=True):
    """One declarative rule, for people and tools. `order` is its place in its file, `digest` 64 hexadecimal digits."""

    id: str
    priority: int
    description: str
    verdict: Verdict
    order: int
    source_location: str
    span: Span | None
    digest: str


class Parts(msgspec.Struct, frozen=True):
    """What a bundle is made of, besides the program.

    `source_map` and `sources` are bytes until somebody asks: a worker that only decides has no use for them.
    """

    ir: bytes
    host_rules: tuple[HostFunction, ...]
    manifest: Manifest
    source_map: SourceMap | bytes | None
    sources: Mapping[str, str] | bytes = msgspec.field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    lynx_id: Callable[[], str] | None = None
    cache: dict[str, Any] = msgspec.field(
        default_factory=dict
    )  # Any: each property keeps its own type under its own name


class PolicyBundle(_core.Program):
    """A compiled policy: frozen, safe to use from many threads, equal to every bundle of the same meaning.

    `evaluate` is inherited from the Rust program.
    """

    __slots__ = ("_parts",)
    _parts: Parts

    def __new__(cls, parts: Parts) -> Self:
        """Loads the program; raises `BundleError` for an IR that the core refuses."""
        try:
            bundle = super().__new__(cls, parts.ir, parts.host_rules)
        except _core.CoreError as error:
            raise BundleError(error.code, str(error)) from error
        object.__setattr__(bundle, "_parts", parts)
        return bundle

    @classmethod
    def from_policy(
        cls,
        policy: Policy,
        *,
        host_rules: tuple[HostFunction, ...] = (),
        source_map: SourceMap | None = None,
        sources: Mapping[str, str] = MappingProxyType({}),
        diagnostics: tuple[Diagnostic, ...] = (),
        lynx_id: Callable[[], str] | None = None,
    ) -> PolicyBundle:
        """The bundle of a policy; `host_rules` in the order of the policy's host rules."""
        data = canonical.encode(policy)
        manifest = Manifest(
            digest=canonical.digest(data).hex(),
            profile=policy.profile,
            language_version=policy.language_version,
            defaults=policy.defaults,
            rule_count=len(policy.rules),
            host_rules=tuple(rule for rule in policy.rules if isinstance(rule, HostRule)),
            source_files=source_map.files if source_map is not None else (),
        )
        parts = Parts(data, host_rules, manifest, source_map, dict(sources), diagnostics, lynx_id)
        parts.cache["ir"] = policy
        return cls(parts)

    @property
    def id(self) -> str:
        """The digest of what the policy means, in 64 hexadecimal digits."""
        return self._parts.manifest.digest

    @property
    def digest(self) -> str:
        """The same as `id`."""
        return self._parts.manifest.digest

    @property
    def lynx_id(self) -> str:
        """The 16 hexadecimal digits that lynx-agent 2.5 gives this policy. ValueError where it gives none."""
        parts = self._parts
        if parts.manifest.lynx_id is not None:
            return parts.manifest.lynx_id
        if "lynx_id" not in parts.cache:
            if parts.lynx_id is None:
                raise ValueError("this policy has no id in lynx-agent")
            parts.cache["lynx_id"] = parts.lynx_id()
        found: str = parts.cache["lynx_id"]
        return found

    @property
    def version(self) -> int:
        """The version of the policy language."""
        return self._parts.manifest.language_version

    @property
    def defaults(self) -> PolicyDefaults:
        """What happens when no rule decides."""
        defaults = self._parts.manifest.defaults
        return PolicyDefaults(
            Verdict(defaults.on_missing_shadow), Verdict(defaults.on_no_match), defaults.on_rule_error
        )

    @property
    def rules(self) -> tuple[RuleView, ...]:
        """The declarative rules in evaluation order."""
        cache = self._parts.cache
        if "rules" not in cache:
            cache["rules"] = tuple(
                self._view(index, rule) for index, rule in enumerate(self.ir.rules) if isinstance(rule, Rule)
            )
        views: tuple[RuleView, ...] = cache["rules"]
        return views

    @property
    def python_rules(self) -> tuple[tuple[str, int, HostFunction], ...]:
        """The host rules in evaluation order: name, priority, callable."""
        parts = self._parts
        pairs = zip(parts.manifest.host_rules, parts.host_rules, strict=True)
        return tuple((rule.name, rule.priority, fn) for rule, fn in pairs)

    @property
    def source_files(self) -> tuple[str, ...]:
        """The files the policy was compiled from."""
        return self._parts.manifest.source_files

    @property
    def source_map(self) -> SourceMap | None:
        """Where each rule and clause stands in the sources; None where a bundle came without."""
        parts = self._parts
        if not isinstance(parts.source_map, bytes):
            return parts.source_map
        if "source_map" not in parts.cache:
            parts.cache["source_map"] = decode_source_map(parts.source_map, parts.manifest)
        decoded: SourceMap = parts.cache["source_map"]
        return decoded

    @property
    def sources(self) -> Mapping[str, str]:
        """The source texts that are known, by file name."""
        sources = self._parts.sources
        return MappingProxyType(decode_sources(sources) if isinstance(sources, bytes) else dict(sources))

    @property
    def manifest(self) -> Manifest:
        """What the bundle file says about itself."""
        return self._parts.manifest

    @property
    def rule_digests(self) -> tuple[str, ...]:
        """The digest of each rule, host rules included, in evaluation order."""
        cache = self._parts.cache
        if "rule_digests" not in cache:
            cache["rule_digests"] = tuple(canonical.rule_digest(rule).hex() for rule in self.ir.rules)
        digests: tuple[str, ...] = cache["rule_digests"]
        return digests

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the compiler found; empty for a bundle that was loaded."""
        return self._parts.diagnostics

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings among `diagnostics`."""
        return tuple(item for item in self.diagnostics if item.severity == "warning")

    @property
    def ir(self) -> Policy:
        """The policy's IR, decoded when first asked for."""
        cache = self._parts.cache
        if "ir" not in cache:
            try:
                policy = msgspec.json.decode(self._parts.ir, type=Policy)
                same = canonical.encode(policy) == self._parts.ir
            except (ValueError, RecursionError) as error:
                raise BundleError("bad_ir", f"section `ir` is malformed: {error}") from error
            if not same:
                raise BundleError("bad_ir", "section `ir` is not in canonical form")
            cache["ir"] = policy
        decoded: Policy = cache["ir"]
        return decoded

    @property
    def epoch(self) -> int | None:
        """The number of this release of the policy, as its publisher counts them; None where it was given none."""
        epoch = self._parts.manifest.epoch
        return None if epoch is msgspec.UNSET else epoch

    @property
    def ir_bytes(self) -> bytes:
        """The canonical bytes of the IR."""
        return self._parts.ir

    def explain(self, request: ActionRequest, context: ExecutionContext | None = None) -> Explanation:
        """The decision on a request, and how every rule came out."""
        from bobcat.bundle.explanation import explain

        return explain(self, request, context)

    def to_bytes(
        self, *, sources: bool = False, private_key: bytes | str | None = None, epoch: int | None = None
    ) -> bytes:
        """The bundle file, the same bytes every time; with the source texts, and signed, when asked.

        `private_key` is an Ed25519 key, 32 bytes or 64 hexadecimal digits. `epoch` numbers this release of the policy,
        for loaders that refuse older ones; it is signed and no part of `id`. Without it the file has the epoch that the
        bundle was loaded with, if any. Raises `BundleError` for an invalid key or epoch, and where `bobcat[sign]` is
        not installed.
        """
        return self._pack(portable, sources=sources, private_key=private_key, epoch=epoch)

    def save(
        self,
        path: str | PathLike[str],
        *,
        sources: bool = False,
        private_key: bytes | str | None = None,
        epoch: int | None = None,
    ) -> None:
        """Write `to_bytes` to a file, complete or not at all. Raises `OSError`, and what `to_bytes` raises."""
        file.write(path, self.to_bytes(sources=sources, private_key=private_key, epoch=epoch))

    def _pack(
        self, name_of: Callable[[str], str], *, sources: bool, private_key: bytes | str | None, epoch: int | None
    ) -> bytes:
        parts = self._parts
        files = tuple(name_of(name) for name in parts.manifest.source_files)
        manifest = msgspec.structs.replace(parts.manifest, source_files=files, lynx_id=self._known_lynx_id())
        if epoch is not None:
            manifest = msgspec.structs.replace(manifest, epoch=checked_epoch(epoch, "epoch"))
        content = {file.MANIFEST: encode_section(manifest), file.IR: parts.ir}
        if self.source_map is not None:
            source_map = msgspec.structs.replace(self.source_map, files=tuple(map(name_of, self.source_map.files)))
            content[file.SOURCE_MAP] = encode_section(source_map.rows())
        if sources:
            content[file.SOURCES] = encode_section({name_of(name): text for name, text in self.sources.items()})
        if private_key is not None:
            from bobcat.bundle.sign import sign

            signature = sign(file.signed_message(content), private_key)
            content[file.SIGNATURES] = msgspec.json.encode([signature], order="sorted")
        return file.pack(content)

    def _known_lynx_id(self) -> str | None:
        try:
            return self.lynx_id
        except ValueError:
            return None

    def _view(self, index: int, rule: Rule) -> RuleView:
        source_map = self.source_map
        source = source_map.rules[index] if source_map is not None else None
        name = "<unknown>"
        if source_map is not None and source is not None and source.file >= 0:
            name = source_map.files[source.file]
        order = source.order if source is not None else index
        return RuleView(
            id=rule.id if isinstance(rule.id, str) else str(rule.id),
            priority=rule.priority,
            description=source.description if source is not None else "",
            verdict=Verdict(rule.verdict),
            order=order,
            source_location=f"{name}:rule[{order}]",
            span=source_map.rule_span(index) if source_map is not None else None,
            digest=self.rule_digests[index],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PolicyBundle):
            return NotImplemented
        return self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<PolicyBundle {self.id[:16]} {self.profile}, {self.rule_count} rules>"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a policy bundle is frozen; `{name}` cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a policy bundle is frozen; `{name}` cannot be deleted")

    def __copy__(self) -> PolicyBundle:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PolicyBundle:  # Any: the protocol of copy.deepcopy
        return self

    def __reduce__(self) -> tuple[Callable[..., PolicyBundle], tuple[bytes, tuple[HostFunction, ...], str]]:
        from bobcat.bundle.load import reload

        data = self._pack(str, sources=True, private_key=None, epoch=None)
        return reload, (data, self._parts.host_rules, self.profile)
