"""A compiled policy in memory: the evaluated program with its metadata.

The compiler creates one with `Policy.from_policy`, `bobcat.bundle.load` from a file. The IR, the manifest and the
source map are decoded to Python on demand: evaluation needs only the Rust program. PERF: so this module imports no
decoder, nor the nodes of the IR, before one of them is asked for.
"""

from __future__ import annotations

from os import PathLike
from types import MappingProxyType

from bobcat import _core
from bobcat.bundle import file
from bobcat.bundle.parts import BundleParts
from bobcat.errors import BundleError
from bobcat.lazy import resolve

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from dataclasses import dataclass
    from datetime import datetime
    from typing import Any, Self, TypeVar

    from bobcat._core import RunState
    from bobcat.bundle.explanation import Explanation
    from bobcat.bundle.host_code import HostFunction
    from bobcat.bundle.manifest import Manifest
    from bobcat.bundle.parts import LynxId
    from bobcat.bundle.source_map import SourceMap
    from bobcat.bundle.views import PolicyDefaults, RuleView
    from bobcat.diagnostics.model import Diagnostic
    from bobcat.ir.schema import Combine, IrPolicy
    from bobcat.model.decision import ActionRequest, ExecutionContext

    _Cached = TypeVar("_Cached")
else:
    from bobcat.model.light_dataclass import dataclass


class Policy(_core.Program):
    """A compiled policy: frozen, thread-safe, equal to every policy with the same digest.

        policy = Policy.compile(text)       # or Policy.compile(Path("policy.yaml")), Policy.load("policy.bobcat")
        decision = policy.evaluate(request)

    `evaluate` is inherited from the Rust program. `PolicyBundle` is another name of this class. `bobcat.build.Policy`
    is the builder of a policy's source; its `compile` returns this class.
    """

    __slots__ = ("_parts",)
    _parts: BundleParts

    def __new__(cls, parts: BundleParts) -> Self:
        """Load the program of a compiled policy. Raises `BundleError` for an IR that the core rejects.

        Programs call `Policy.compile` or `Policy.load` instead.
        """
        if not isinstance(parts, BundleParts):
            raise TypeError(
                f"a Policy is not made of {type(parts).__name__}; write Policy.compile(...) for a source, "
                "Policy.load(...) for a bundle, bobcat.build.Policy(...) for rules built in Python"
            )
        try:
            bundle = super().__new__(cls, parts.ir, parts.host_rules)
        except _core.CoreError as error:
            raise BundleError(error.code, str(error)) from error
        object.__setattr__(bundle, "_parts", parts)
        return bundle

    @staticmethod
    def compile(source: object, **options: Any) -> Policy:  # Any: those of `compile_policy`
        """Compile a policy: YAML text, plain data, what `bobcat.build` builds, or the file at a `pathlib.Path`.

        The options are those of `compile_policy`, or for a path of `load_policy_file`. Raises `PolicyCompileError` with
        every finding.
        """
        name = "load_policy_file" if isinstance(source, PathLike) else "compile_policy"
        policy: Policy = resolve("bobcat.compiler", name)(source, **options)
        return policy

    @staticmethod
    def load(
        source: str | PathLike[str] | bytes,
        host_rules: Iterable[HostFunction] | Mapping[str, HostFunction] = (),
        **options: Any,  # Any: those of `load_bundle`
    ) -> Policy:
        """Load the compiled policy in a bundle file, or in the bytes of one.

        The options are those of `load_bundle`: `trusted_keys`, `profile`, `expected_id`, `min_epoch`. Raises
        `BundleError`.
        """
        policy: Policy = resolve("bobcat.bundle.load", "load_bundle")(source, host_rules, **options)
        return policy

    @staticmethod
    def layered(
        layers: Mapping[str, Policy],
        *,
        combine: Combine = "strictest",
        limits: Mapping[str, Policy] = MappingProxyType({}),
    ) -> Policy:
        """Combine policies to one, a layer each, in order from the highest: see `bobcat.bundle.layers.layered`.

        Raises `BundleError`: `bad_layers`, and `limit_exceeded` for a rule that permits only what `limits` forbid.
        """
        policy: Policy = resolve("bobcat.bundle.layers", "layered")(layers, combine=combine, limits=limits)
        if limits:
            found = [each.text for each in resolve("bobcat.lint.exceeded_limits", "exceeded")(layers, limits)]
            if found:
                raise BundleError("limit_exceeded", "; ".join(found))
        return policy

    def narrow_with(self, policy: Policy) -> Policy:
        """Return this policy with a last layer, `run`, that can only make its decisions stricter.

        Raises `BundleError` with the code `bad_layers`.
        """
        narrowed: Policy = resolve("bobcat.bundle.layers", "narrowed")(self, policy)
        return narrowed

    @classmethod
    def from_policy(
        cls,
        policy: IrPolicy,
        *,
        host_rules: tuple[HostFunction, ...] = (),
        source_map: SourceMap | None = None,
        sources: Mapping[str, str] = MappingProxyType({}),
        diagnostics: tuple[Diagnostic, ...] = (),
        lynx_id: LynxId | None = None,
        layer_signatures: bytes = b"",
    ) -> Policy:
        """Create the bundle of a policy; `host_rules` in the order of the policy's host rules."""
        from bobcat.bundle.manifest import Manifest
        from bobcat.ir import canonical
        from bobcat.ir.schema import HostRule

        data = canonical.encode(policy)
        digest = canonical.digest(data).hex()
        manifest = Manifest(
            digest=digest,
            profile=policy.profile,
            language_version=policy.language_version,
            defaults=policy.defaults,
            rule_count=len(policy.rules),
            host_rules=tuple(rule for rule in policy.rules if isinstance(rule, HostRule)),
            source_files=source_map.files if source_map is not None else (),
        )
        parts = BundleParts(
            data,
            digest,
            host_rules,
            manifest,
            source_map,
            dict(sources),
            diagnostics,
            lynx_id,
            layer_signatures=layer_signatures,
        )
        parts.cache["ir"] = policy
        return cls(parts)

    @property
    def id(self) -> str:
        """Return the digest of the policy, in 64 hexadecimal digits."""
        return self._parts.digest

    @property
    def digest(self) -> str:
        """Alias of `id`."""
        return self._parts.digest

    @property
    def lynx_id(self) -> str:
        """Return the 16-digit hexadecimal id that lynx-agent 2.5 gives this policy. ValueError if there is no such
        id.
        """
        parts = self._parts
        if parts.manifest.lynx_id is not None:
            return parts.manifest.lynx_id
        if parts.lynx_id is None:
            raise ValueError("this policy has no id in lynx-agent")
        return self._cached("lynx_id", parts.lynx_id)

    @property
    def version(self) -> int:
        """Return the version of the policy language."""
        return self._parts.manifest.language_version

    @property
    def defaults(self) -> PolicyDefaults:
        """Return the verdicts when no rule decides."""
        from bobcat.bundle.views import defaults_of

        return defaults_of(self._parts.manifest.defaults)

    @property
    def rules(self) -> tuple[RuleView, ...]:
        """Return the declarative rules in evaluation order."""
        from bobcat.bundle.views import views_of

        return self._cached("rules", lambda: views_of(self.ir.rules, self.source_map, self.rule_digests))

    @property
    def python_rules(self) -> tuple[tuple[str, int, HostFunction], ...]:
        """Return the host rules in evaluation order: name, priority, callable."""
        parts = self._parts
        pairs = zip(parts.manifest.host_rules, parts.host_rules, strict=True)
        return tuple((rule.name, rule.priority, fn) for rule, fn in pairs)

    @property
    def source_files(self) -> tuple[str, ...]:
        """Return the files the policy was compiled from."""
        return self._parts.manifest.source_files

    @property
    def source_map(self) -> SourceMap | None:
        """Return the source positions of rules and clauses; None if the bundle has no source map."""
        parts, data = self._parts, self._parts.source_map
        if not isinstance(data, bytes):
            return data
        from bobcat.bundle.manifest import decode_source_map

        return self._cached("source_map", lambda: decode_source_map(data, parts.manifest))

    @property
    def sources(self) -> Mapping[str, str]:
        """Return the available source texts by file name."""
        sources = self._parts.sources
        if not isinstance(sources, bytes):
            return MappingProxyType(dict(sources))
        from bobcat.bundle.manifest import decode_sources

        return MappingProxyType(decode_sources(sources))

    @property
    def manifest(self) -> Manifest:
        """Return the metadata of the bundle file."""
        return self._parts.manifest

    @property
    def rule_digests(self) -> tuple[str, ...]:
        """Return the digest of each rule, host rules included, in evaluation order."""
        from bobcat.ir.canonical import rule_digest

        return self._cached("rule_digests", lambda: tuple(rule_digest(rule).hex() for rule in self.ir.rules))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the compiler's diagnostics; empty for a loaded bundle."""
        return self._parts.diagnostics

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return the warnings among `diagnostics`."""
        return tuple(item for item in self.diagnostics if item.severity == "warning")

    @property
    def ir(self) -> IrPolicy:
        """Return the policy's IR, decoded on first use."""
        from bobcat.bundle.encoding import decode_ir

        return self._cached("ir", lambda: decode_ir(self._parts.ir))

    @property
    def monitored(self) -> Policy | None:
        """Return the policy with its monitored rules in force; None for a policy without any."""
        return self._cached("monitored", self._with_monitored)

    def _with_monitored(self) -> Policy | None:
        if b'"mode":"monitor"' not in self._parts.ir:  # PERF: most policies; the IR stays encoded
            return None
        from bobcat.bundle.encoding import monitored_in_force

        enforced = monitored_in_force(self.ir)
        if enforced is None:
            return None
        hosts, places, sources = self._parts.host_rules, self.source_map, self.sources
        return Policy.from_policy(enforced, host_rules=hosts, source_map=places, sources=sources)

    def _cached(self, name: str, compute: Callable[[], _Cached]) -> _Cached:
        cache = self._parts.cache
        if name not in cache:
            cache[name] = compute()
        value: _Cached = cache[name]
        return value

    @property
    def layers(self) -> tuple[PolicyLayer, ...]:
        """Return the layers in order, each with its own digest; empty for a policy without layers."""
        return self._cached("layers", lambda: resolve("bobcat.bundle.layers", "layers_of")(self))

    @property
    def combine(self) -> Combine | None:
        """Return the name of the combiner; None for a policy without layers."""
        from msgspec import UnsetType

        layers = self.ir.layers
        return None if isinstance(layers, UnsetType) else layers.combine

    @property
    def signed_parts(self) -> tuple[bytes, bytes, bytes]:
        """Return the signed message of the bundle file, its signatures, and those of its layers, as the file has them;
        empty without any.
        """
        return self._parts.signed, self._parts.signatures, self._parts.layer_signatures

    @property
    def epoch(self) -> int | None:
        """Return the release number that the publisher gave this policy, or None."""
        epoch = self._parts.manifest.epoch
        return epoch if isinstance(epoch, int) else None

    @property
    def expires(self) -> datetime | None:
        """Return the end of the time for which this release may be distributed, or None."""
        from msgspec import UnsetType

        expires = self._parts.manifest.expires
        return None if isinstance(expires, UnsetType) else expires

    @property
    def ir_bytes(self) -> bytes:
        """Return the canonical bytes of the IR."""
        return self._parts.ir

    def explain(
        self, request: ActionRequest, context: ExecutionContext | None = None, state: RunState | None = None
    ) -> Explanation:
        """Evaluate a request and return the decision with the outcome of every rule. `state` is that of its run."""
        found: Explanation = resolve("bobcat.bundle.explain", "explain")(self, request, context, state)
        return found

    def to_bytes(
        self, *, sources: bool = False, private_key: bytes | str | None = None, epoch: int | None = None
    ) -> bytes:
        """Return the bundle file, deterministic; optionally with the source texts, and signed.

        `private_key` is an Ed25519 key, 32 bytes or 64 hexadecimal digits. `epoch` numbers this release of the policy,
        for loaders that reject older ones; it is signed but not part of `id`. By default, the file has the epoch that
        the bundle was loaded with, if any. Raises `BundleError` for an invalid key or epoch, and if `bobcat[sign]` is
        not installed.
        """
        from bobcat.bundle.manifest import portable

        return self._pack(portable, sources=sources, private_key=private_key, epoch=epoch)

    def save(
        self,
        path: str | PathLike[str],
        *,
        sources: bool = False,
        private_key: bytes | str | None = None,
        epoch: int | None = None,
    ) -> None:
        """Write `to_bytes` to a file atomically. Raises `OSError`, and everything `to_bytes` raises."""
        file.write(path, self.to_bytes(sources=sources, private_key=private_key, epoch=epoch))

    def _pack(
        self, name_of: Callable[[str], str], *, sources: bool, private_key: bytes | str | None, epoch: int | None
    ) -> bytes:
        from bobcat.bundle.encoding import packed

        return packed(
            self._parts,
            name_of,
            lynx_id=self._known_lynx_id(),
            source_map=self.source_map,
            texts=self.sources if sources else None,
            private_key=private_key,
            epoch=epoch,
        )

    def _known_lynx_id(self) -> str | None:
        try:
            return self.lynx_id
        except ValueError:
            return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policy):
            return NotImplemented
        return self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Policy {self.id[:16]} {self.profile}, {self.rule_count} rules>"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a policy bundle is frozen; `{name}` cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a policy bundle is frozen; `{name}` cannot be deleted")

    def __copy__(self) -> Policy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:  # Any: the protocol of copy.deepcopy
        return self

    def __reduce__(self) -> tuple[Callable[..., Policy], tuple[bytes, tuple[HostFunction, ...], str]]:
        reload = resolve("bobcat.bundle.load", "reload")  # not imported: that module needs this one
        data = self._pack(str, sources=True, private_key=None, epoch=None)
        return reload, (data, self._parts.host_rules, self.profile)


PolicyBundle = Policy
"""Older name of `Policy`."""


@dataclass(frozen=True, slots=True)
class PolicyLayer:
    """One layer of a policy. `policy` is the layer alone, with the digest that it was compiled with.

    `limits`: its verdict takes no part in combining, and only makes the combined one stricter. `signed_by` are the
    public keys, in hexadecimal, of the signatures that the layer carries; `load_bundle(layer_keys=...)` verifies them.
    """

    name: str
    policy: Policy
    limits: bool
    signed_by: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return the digest of the layer, 64 hexadecimal digits."""
        return self.policy.digest
