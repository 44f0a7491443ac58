"""Loading of bundle files and bytes, as workers do. Bytes are verified before they are decoded.

Imports neither the compiler nor a YAML parser.
"""

from __future__ import annotations

import os

from bobcat._core import is_manifest_of, manifest_head
from bobcat.bundle import file
from bobcat.bundle.model import Policy
from bobcat.bundle.parts import BundleParts
from bobcat.errors import BundleError

TYPE_CHECKING = False  # PERF: see `bobcat.lazy`
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bobcat.bundle.host_code import HostFunction
    from bobcat.bundle.manifest import Manifest
    from bobcat.bundle.sign import BundleSignature
    from bobcat.ir.schema import HostRule, Profile


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
    if profile not in ("strict", None):
        _check_profile(profile)
    data = bytes(source) if isinstance(source, bytes | bytearray | memoryview) else file.read(source)
    sections = _verified(data, trusted_keys)
    content, section = sections.content, sections.content[file.MANIFEST]
    # PERF: the core reads the manifest of most bundles. It leaves the others, and the reasons of errors, to the
    # decoder, which takes 20 ms to import.
    head, manifest = manifest_head(section), None
    if head is None:
        manifest = _decoded(section)
        head = _head_of(manifest)
    digest, of_profile, epoch = head
    _check_digest(digest, sections)
    if profile is not None and of_profile != profile:
        raise BundleError(
            "profile_mismatch",
            f"the bundle has the profile `{of_profile}`, not `{profile}`, which has other semantics; "
            f"load it with `profile={of_profile!r}` (`--profile {of_profile}`)",
        )
    if expected_id is not None and digest != expected_id:
        raise BundleError("id_mismatch", f"the bundle has the id {digest}, not `expected_id` {expected_id!r}")
    if min_epoch is not None:
        _check_epoch(epoch, min_epoch)
    callables = resolve_host_rules(() if manifest is None else manifest.host_rules, host_rules)
    ir = content[file.IR]
    bundle = Policy(
        BundleParts(
            ir,
            digest,
            callables,
            section if manifest is None else manifest,
            content.get(file.SOURCE_MAP),
            content.get(file.SOURCES, {}),
            signed=sections.signed_message,
            signatures=content.get(file.SIGNATURES, b""),
            layer_signatures=content.get(file.LAYER_SIGNATURES, b""),
        )
    )
    if not (is_manifest_of(section, bundle, ir) if manifest is None else _describes(manifest, bundle)):
        raise BundleError("bad_manifest", "the manifest does not describe the policy")
    if layer_keys is not None:
        from bobcat.bundle.layers import verify_layers

        verify_layers(bundle, layer_keys)
    return bundle


def open_bundle(data: bytes, trusted_keys: Iterable[bytes | str] | None) -> tuple[file.Sections, Manifest]:
    """Verify the digests and signatures of a bundle; return its sections and its manifest. The IR is not decoded.

    Raises `BundleError`.
    """
    sections = _verified(data, trusted_keys)
    manifest = _decoded(sections.content[file.MANIFEST])
    _check_digest(manifest.digest, sections)
    return sections, manifest


def _verified(data: bytes, trusted_keys: Iterable[bytes | str] | None) -> file.Sections:
    """Return the sections of a bundle with verified digests and signatures."""
    sections = file.unpack(data)
    if trusted_keys is not None:
        from bobcat.bundle.sign import verify

        verify(sections.signed_message, _signatures(sections), trusted_keys)
    return sections


def _decoded(section: bytes) -> Manifest:
    from bobcat.bundle.manifest import decode_manifest

    return decode_manifest(section)


def _head_of(manifest: Manifest) -> tuple[str, Profile, int | None]:
    """Return the digest, the profile and the epoch, as the core reads them."""
    return manifest.digest, manifest.profile, manifest.epoch if isinstance(manifest.epoch, int) else None


def _check_profile(profile: object) -> None:
    from typing import get_args

    from bobcat.ir.schema import Profile

    if profile not in get_args(Profile):
        raise ValueError(f"`profile` must be one of {', '.join(get_args(Profile))} or None, not {profile!r}")


def _check_digest(digest: str, sections: file.Sections) -> None:
    if digest != sections.policy_digest.hex():
        raise BundleError("digest_mismatch", "the policy does not have the digest in the manifest")


def resolve_host_rules(
    declared: Iterable[HostRule], given: Iterable[HostFunction] | Mapping[str, HostFunction]
) -> tuple[HostFunction, ...]:
    """Return one callable for each declared host rule, in declaration order."""
    if isinstance(given, tuple) and not given and not declared:  # PERF: most bundles
        return ()
    from collections.abc import Mapping

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


def _check_epoch(epoch: int | None, least: object) -> None:
    from bobcat.bundle.manifest import checked_epoch

    least = checked_epoch(least, "min_epoch")
    if epoch is None:
        if least > 0:
            raise BundleError("old_epoch", f"the bundle has no epoch; `min_epoch` is {least}")
    elif epoch < least:
        raise BundleError("old_epoch", f"the bundle has the epoch {epoch}; `min_epoch` is {least}")


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


def _describes(manifest: Manifest, bundle: Policy) -> bool:
    """Return true if the manifest describes a policy, whose IR the core has accepted."""
    from bobcat.ir import canonical
    from bobcat.ir.schema import IR_VERSION, IrPolicy

    ir = bundle.ir_bytes
    empty = IrPolicy(IR_VERSION, manifest.profile, manifest.language_version, manifest.defaults, ())
    if not canonical.has_header(ir, canonical.header(empty)):
        return False
    # The core has counted the host rules: if the manifest has no host rules, the IR has none either.
    try:
        found = not manifest.host_rules or canonical.host_rules(ir) == manifest.host_rules
    except canonical.EncodingError as error:
        raise BundleError("bad_ir", f"section `ir` is malformed: {error}") from error
    return found and bundle.rule_count == manifest.rule_count


def signers(data: bytes) -> tuple[str, ...]:
    """Return the public keys that the signatures of a bundle file claim. Nothing is verified. Raises `BundleError`."""
    return tuple(signature.public_key for signature in _signatures(file.unpack(data)))


def _signatures(sections: file.Sections) -> list[BundleSignature]:
    import msgspec

    from bobcat.bundle.sign import MAX_SIGNATURES, BundleSignature

    try:
        signatures = msgspec.json.decode(sections.content.get(file.SIGNATURES, b"[]"), type=list[BundleSignature])
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_signature", f"section `signatures` is malformed: {error}") from error
    if len(signatures) > MAX_SIGNATURES:
        raise BundleError("too_large", f"the bundle has {len(signatures)} signatures; the limit is {MAX_SIGNATURES}")
    return signatures
