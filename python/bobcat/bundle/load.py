"""Loading of bundle files and bytes, as workers do. Bytes are verified before they are decoded.

Imports neither the compiler nor a YAML parser.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, get_args

import msgspec

from bobcat.bundle import file
from bobcat.bundle.manifest import Manifest, checked_epoch, decode_manifest
from bobcat.bundle.model import Policy
from bobcat.bundle.parts import BundleParts
from bobcat.errors import BundleError
from bobcat.ir import canonical
from bobcat.ir.schema import IR_VERSION, HostRule, IrPolicy, Profile

if TYPE_CHECKING:
    from bobcat.bundle.host_code import HostFunction
    from bobcat.bundle.sign import BundleSignature


def is_bundle(data: bytes) -> bool:
    """Return true if `data` starts like a bundle file; the rest is not checked."""
    return data[: len(file.MAGIC)] == file.MAGIC


def load_bundle(
    source: str | os.PathLike[str] | bytes,
    host_rules: Iterable[HostFunction] | Mapping[str, HostFunction] = (),
    *,
    trusted_keys: Iterable[bytes | str] | None = None,
    profile: Profile | None = "strict",
    expected_id: str | None = None,
    min_epoch: int | None = None,
    layer_keys: Mapping[str, Iterable[bytes | str]] | None = None,
) -> Policy:
    """Load the bundle in a file, or in `bytes`.

    `host_rules` are the callables the policy was compiled with, matched by name. It is an error if one is missing,
    changed or not part of the policy. With `trusted_keys`, a bundle without a signature of one of them is rejected; an
    empty list rejects every bundle; only None skips the check. A bundle of another `profile` is rejected, None accepts
    either. A bundle is also rejected if its id is not `expected_id` or its epoch is below `min_epoch` (no epoch counts
    as 0). `layer_keys` holds, by the name of a layer, the keys of which one must have signed the bundle that the layer
    came from. Raises `BundleError`.
    """
    if profile is not None and profile not in get_args(Profile):
        raise ValueError(f"`profile` must be one of {', '.join(get_args(Profile))} or None, not {profile!r}")
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else file.read(source)
    sections, manifest = open_bundle(data, trusted_keys)
    content = sections.content
    if profile is not None and manifest.profile != profile:
        raise BundleError(
            "profile_mismatch",
            f"the bundle has the profile `{manifest.profile}`, not `{profile}`, which has other semantics; "
            f"load it with `profile={manifest.profile!r}` (`--profile {manifest.profile}`)",
        )
    if expected_id is not None and manifest.digest != expected_id:
        raise BundleError("id_mismatch", f"the bundle has the id {manifest.digest}, not `expected_id` {expected_id!r}")
    if min_epoch is not None:
        _check_epoch(manifest, checked_epoch(min_epoch, "min_epoch"))
    callables = resolve_host_rules(manifest.host_rules, host_rules)
    ir = content[file.IR]
    bundle = Policy(
        BundleParts(
            ir,
            callables,
            manifest,
            content.get(file.SOURCE_MAP),
            content.get(file.SOURCES, {}),
            signed=sections.signed_message,
            signatures=content.get(file.SIGNATURES, b""),
            layer_signatures=content.get(file.LAYER_SIGNATURES, b""),
        )
    )
    if not _describes(manifest, ir) or bundle.rule_count != manifest.rule_count:
        raise BundleError("bad_manifest", "the manifest does not describe the policy")
    if layer_keys is not None:
        from bobcat.bundle.layers import verify_layers

        verify_layers(bundle, layer_keys)
    return bundle


def open_bundle(data: bytes, trusted_keys: Iterable[bytes | str] | None) -> tuple[file.Sections, Manifest]:
    """Verify the digests and signatures of a bundle; return its sections and its manifest. The IR is not decoded.

    Raises `BundleError`.
    """
    sections = file.unpack(data)
    if trusted_keys is not None:
        _verify(sections, trusted_keys)
    manifest = decode_manifest(sections.content[file.MANIFEST])
    if manifest.digest != sections.policy_digest.hex():
        raise BundleError("digest_mismatch", "the policy does not have the digest in the manifest")
    return sections, manifest


def resolve_host_rules(
    declared: Iterable[HostRule], given: Iterable[HostFunction] | Mapping[str, HostFunction]
) -> tuple[HostFunction, ...]:
    """Return one callable for each declared host rule, in declaration order."""
    by_name: dict[str, list[tuple[str, HostFunction]]] = {}
    for fn in given.values() if isinstance(given, Mapping) else given:
        if not callable(fn):
            raise BundleError("bad_host_rule", f"a host rule is a callable, and this is {type(fn).__name__}")
        # PERF: only bundles with a host rule import the module that identifies callables.
        from bobcat.bundle.host_code import host_code

        code = host_code(fn)
        by_name.setdefault(code.name, []).append((code.digest, fn))
    resolved = [_take(rule, by_name) for rule in declared]
    left = [name for name, candidates in by_name.items() if candidates]
    if left:
        raise BundleError("unknown_host_rule", f"the policy has no host rule `{left[0]}`")
    return tuple(resolved)


def reload(data: bytes, host_rules: tuple[HostFunction, ...], profile: Profile) -> Policy:
    """Restore a pickled policy: `Policy.__reduce__` passes its profile."""
    return load_bundle(data, host_rules, profile=profile)


def _check_epoch(manifest: Manifest, least: int) -> None:
    if manifest.epoch is msgspec.UNSET:
        if least > 0:
            raise BundleError("old_epoch", f"the bundle has no epoch; `min_epoch` is {least}")
    elif manifest.epoch < least:
        raise BundleError("old_epoch", f"the bundle has the epoch {manifest.epoch}; `min_epoch` is {least}")


def _take(rule: HostRule, by_name: Mapping[str, list[tuple[str, HostFunction]]]) -> HostFunction:
    where = f"`{rule.name}` ({rule.module}:{rule.qualname})"
    candidates = by_name.get(rule.name, [])
    if not candidates:
        raise BundleError("missing_host_rule", f"the policy needs the host rule {where}; pass it in `host_rules`")
    for index, (digest, fn) in enumerate(candidates):
        if digest == rule.code:
            del candidates[index]
            return fn
    compiled, running = rule.code.partition(":")[0], candidates[0][0].partition(":")[0]
    if compiled != running:
        raise BundleError(
            "host_rule_changed", f"the host rule {where} was compiled under {compiled}, and this is {running}"
        )
    raise BundleError("host_rule_changed", f"the host rule {where} is not the one the policy was compiled with")


def _describes(manifest: Manifest, ir: bytes) -> bool:
    """Return true if the manifest describes an IR that the core has accepted, apart from its rules."""
    empty = IrPolicy(IR_VERSION, manifest.profile, manifest.language_version, manifest.defaults, ())
    if not canonical.has_header(ir, canonical.header(empty)):
        return False
    # The core has counted the host rules: if the manifest has no host rules, the IR has none either.
    try:
        return not manifest.host_rules or canonical.host_rules(ir) == manifest.host_rules
    except canonical.EncodingError as error:
        raise BundleError("bad_ir", f"section `ir` is malformed: {error}") from error


def signers(data: bytes) -> tuple[str, ...]:
    """Return the public keys that the signatures of a bundle file claim. Nothing is verified. Raises `BundleError`."""
    return tuple(signature.public_key for signature in _signatures(file.unpack(data)))


def _verify(sections: file.Sections, trusted_keys: Iterable[bytes | str]) -> None:
    from bobcat.bundle.sign import verify

    verify(sections.signed_message, _signatures(sections), trusted_keys)


def _signatures(sections: file.Sections) -> list[BundleSignature]:
    from bobcat.bundle.sign import MAX_SIGNATURES, BundleSignature

    try:
        signatures = msgspec.json.decode(sections.content.get(file.SIGNATURES, b"[]"), type=list[BundleSignature])
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_signature", f"section `signatures` is malformed: {error}") from error
    if len(signatures) > MAX_SIGNATURES:
        raise BundleError("too_large", f"the bundle has {len(signatures)} signatures; the limit is {MAX_SIGNATURES}")
    return signatures
