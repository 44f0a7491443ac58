"""Policies and bundle files: the file that the parts of a policy make, and the IR in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from bobcat.bundle import file
from bobcat.bundle.manifest import checked_epoch, encode_section
from bobcat.bundle.parts import BundleParts
from bobcat.bundle.source_map import SourceMap
from bobcat.errors import BundleError
from bobcat.ir import canonical
from bobcat.ir.schema import IrPolicy, IrRule


def packed(
    parts: BundleParts,
    name_of: Callable[[str], str],
    *,
    lynx_id: str | None,
    source_map: SourceMap | None,
    texts: Mapping[str, str] | None,
    private_key: bytes | str | None,
    epoch: int | None,
) -> bytes:
    """Return the bundle file, with the source texts and a signature where they are given.

    `name_of` gives the name of a source file in the bundle. Raises `BundleError`.
    """
    files = tuple(name_of(name) for name in parts.manifest.source_files)
    manifest = msgspec.structs.replace(parts.manifest, source_files=files, lynx_id=lynx_id)
    if epoch is not None:
        manifest = msgspec.structs.replace(manifest, epoch=checked_epoch(epoch, "epoch"))
    content = {file.MANIFEST: encode_section(manifest), file.IR: parts.ir}
    if source_map is not None:
        portable_map = msgspec.structs.replace(source_map, files=tuple(map(name_of, source_map.files)))
        content[file.SOURCE_MAP] = encode_section(portable_map.rows())
    if texts is not None:
        content[file.SOURCES] = encode_section({name_of(name): text for name, text in texts.items()})
    if parts.layer_signatures:
        content[file.LAYER_SIGNATURES] = parts.layer_signatures
    if private_key is not None:
        from bobcat.bundle.sign import sign

        signature = sign(file.signed_message(content), private_key)
        content[file.SIGNATURES] = msgspec.json.encode([signature], order="sorted")
    return file.pack(content)


def decode_ir(data: bytes) -> IrPolicy:
    """Decode the IR of a bundle. Raises `BundleError` for one that is not in canonical form."""
    try:
        policy = msgspec.json.decode(data, type=IrPolicy)
        same = canonical.encode(policy) == data
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_ir", f"section `ir` is malformed: {error}") from error
    if not same:
        raise BundleError("bad_ir", "section `ir` is not in canonical form")
    return policy


def monitored_in_force(policy: IrPolicy) -> IrPolicy | None:
    """Return the IR with its monitored rules in force; None for one without any."""
    rules = tuple(
        [
            msgspec.structs.replace(rule, mode=msgspec.UNSET) if isinstance(rule, IrRule) else rule
            for rule in policy.rules
        ]
    )
    return None if rules == policy.rules else msgspec.structs.replace(policy, rules=rules)
