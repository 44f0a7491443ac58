"""Policies of layers: several policies as one, evaluated layer by layer, with one combined decision.

`Policy.layered` and the command line call `layered`, `Policy.narrow_with` calls `narrowed`. The core evaluates the
result. `docs/reference/layers.md` defines the decisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from bobcat.bundle import file
from bobcat.bundle.model import Policy, PolicyLayer
from bobcat.bundle.sign import BundleSignature, verify
from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.errors import BundleError
from bobcat.ir.memory import used
from bobcat.ir.schema import (
    IR_VERSION,
    AnyRule,
    Combine,
    Defaults,
    Definition,
    IrPolicy,
    IrRule,
    Layer,
    Layers,
)

MAX_LAYERS = 16
"""Most layers of one policy, limits included."""
RUN_LAYER = "run"
"""The layer that `narrow_with` adds."""
STRICTNESS = ("allow", "transform", "dry_run", "approve_required", "deny")
"""Verdicts from the loosest to the strictest."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)
_LIMITS = "-limits"


class LayerSignatures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The signatures of the bundle that a layer came from, with the message that they sign, in hexadecimal."""

    signed: str
    signatures: tuple[BundleSignature, ...]


def layered(
    layers: Mapping[str, Policy],
    *,
    combine: Combine = "strictest",
    limits: Mapping[str, Policy] = MappingProxyType({}),
) -> Policy:
    """Return one policy of several, in order from the highest layer to the lowest.

    `combine` is `strictest`, `first`, `last` or `strict_overrides_loose`. `limits` holds, for some layers, what no
    layer may exceed: a policy whose verdict makes the decision stricter, never looser. Raises `BundleError` with the
    code `bad_layers`, and `TypeError` for a value that is not a `Policy`.
    """
    if combine not in get_args(Combine):
        raise _bad(f"`combine` must be one of {', '.join(get_args(Combine))}, not {combine!r}")
    if not layers:
        raise _bad("a policy of layers needs at least one layer")
    given = [(name, policy, False) for name, policy in layers.items()]
    for name, policy in limits.items():
        if name not in layers:
            raise _bad(f"`limits` names `{name}`, and the layers are {', '.join(layers)}")
        _check_limits(name, policy)
        given.append((f"{name}{_LIMITS}", policy, True))
    return _merged(given, combine)


def narrowed(policy: Policy, narrow_with: Policy) -> Policy:
    """Return `policy` with a last layer, `run`, that can only make its decisions stricter."""
    own = [(layer.name, layer.policy, layer.limits) for layer in layers_of(policy)] or [("policy", policy, False)]
    combine = policy.combine or "strictest"
    return _merged([*own, (RUN_LAYER, narrow_with, combine != "strictest")], combine, policy)


def layers_of(policy: Policy) -> tuple[PolicyLayer, ...]:
    """Return the layers of a policy, each as a policy of its own."""
    ir, source_map = policy.ir, policy.source_map
    if isinstance(ir.layers, UnsetType):
        return ()
    signatures = _signatures(policy)
    found, start = [], 0
    for layer in ir.layers.items:
        end = start + layer.rules
        rules = tuple([_renamed(rule, _name_of(rule).removeprefix(f"{layer.name}:")) for rule in ir.rules[start:end]])
        memory = {} if isinstance(ir.memory, UnsetType) else used(rules, ir.memory)
        alone = replace(ir, defaults=layer.defaults, rules=rules, memory=memory or UNSET, layers=UNSET)
        places = source_map and _places_of(source_map, source_map.rules[start:end])
        texts = {name: text for name, text in policy.sources.items() if places is not None and name in places.files}
        signed = signatures.get(layer.name)
        signers = tuple([item.public_key for item in signed.signatures]) if signed is not None else ()
        alone_policy = Policy.from_policy(alone, source_map=places, sources=texts)
        found.append(PolicyLayer(layer.name, alone_policy, layer.limits, signers))
        start = end
    return tuple(found)


def verify_layers(policy: Policy, layer_keys: Mapping[str, Iterable[bytes | str]]) -> None:
    """Verify that each named layer was signed, in the bundle that it came from, by one of its keys.

    Raises `BundleError`: `bad_layers` for a layer that the policy does not have, `unsigned`, `bad_signature`.
    """
    layers = {layer.name: layer for layer in policy.layers}
    signatures = _signatures(policy)
    for name, keys in layer_keys.items():
        if name not in layers:
            raise _bad(f"the policy has no layer `{name}`; its layers are {', '.join(layers) or 'none'}")
        signed = signatures.get(name)
        if signed is None:
            raise BundleError("unsigned", f"the layer `{name}` carries no signature")
        message = bytes.fromhex(signed.signed)
        verify(message, signed.signatures, keys)
        if file.signed_policy(message) != bytes.fromhex(layers[name].digest):
            raise BundleError("bad_signature", f"the signature of the layer `{name}` is that of another policy")


def _merged(given: Sequence[tuple[str, Policy, bool]], combine: Combine, base: Policy | None = None) -> Policy:
    """Join layers; `base` has the signatures of those that it has, too."""
    if len(given) > MAX_LAYERS:
        raise _bad(f"the policy has {len(given)} layers, limits included; the limit is {MAX_LAYERS}")
    rules: list[AnyRule] = []
    items: list[Layer] = []
    memory: dict[str, Definition] = {}
    for name, policy, limits in given:
        _check_layer(name, policy, [item.name for item in items])
        ir = policy.ir
        rules.extend(_renamed(rule, f"{name}:{_name_of(rule)}") for rule in ir.rules)
        items.append(Layer(name, len(ir.rules), ir.defaults, limits))
        memory |= {} if isinstance(ir.memory, UnsetType) else ir.memory
    merged = IrPolicy(
        IR_VERSION,
        "strict",
        given[0][1].version,
        _defaults([item.defaults for item in items]),
        tuple(rules),
        dict(sorted(memory.items())) or UNSET,
        Layers(combine, tuple(items)),
    )
    source_map, sources = _places([(name, policy) for name, policy, _ in given])
    made = Policy.from_policy(
        merged,
        source_map=source_map,
        sources=sources,
        diagnostics=tuple([item for _, policy, _ in given for item in policy.diagnostics]),
        layer_signatures=_carried(given, base),
    )
    for layer, (name, policy, _) in zip(made.layers, given, strict=True):
        if layer.digest != policy.digest:  # its memory has definitions that no rule of it reads
            raise _bad(f"the layer `{name}` cannot be taken apart again; compile it with this version")
    return made


def _check_layer(name: object, policy: object, known: Sequence[str]) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _bad(f"`{name}` is not the name of a layer: lower-case letters, digits, `-` and `_`, a letter first")
    if name in known:
        raise _bad(f"two layers are called `{name}`")
    if not isinstance(policy, Policy):
        raise TypeError(f"the layer `{name}` must be a Policy, got {type(policy).__name__}")
    if policy.profile != "strict":
        raise _bad(f"the layer `{name}` has the profile `{policy.profile}`; layers are of the profile `strict`")
    if policy.python_rules:
        raise _bad(
            f"the layer `{name}` has the host rule `{policy.python_rules[0][0]}`; write it in the compiled subset"
        )
    if policy.combine is not None:
        raise _bad(f"the layer `{name}` has layers itself; list all layers at once")


def _check_limits(name: str, policy: object) -> None:
    if not isinstance(policy, Policy):
        raise TypeError(f"the limits of `{name}` must be a Policy, got {type(policy).__name__}")
    if (policy.defaults.on_no_match, policy.defaults.on_missing_shadow) != ("allow", "allow"):
        raise _bad(
            f"the limits of `{name}` deny what they do not mention; write `defaults: {{on_no_match: allow, "
            "on_missing_shadow: allow}`"
        )


def _bad(message: str) -> BundleError:
    return BundleError("bad_layers", message)


def _name_of(rule: AnyRule) -> str:
    return str(rule.id) if isinstance(rule, IrRule) else rule.name


def _renamed(rule: AnyRule, name: str) -> AnyRule:
    return replace(rule, id=name) if isinstance(rule, IrRule) else replace(rule, name=name)


def _defaults(each: Sequence[Defaults]) -> Defaults:
    """Return the strictest of some defaults."""
    return Defaults(
        max((item.on_no_match for item in each), key=STRICTNESS.index),
        max((item.on_missing_shadow for item in each), key=STRICTNESS.index),
        "deny" if any(item.on_rule_error == "deny" for item in each) else "continue",
    )


def _places(given: Sequence[tuple[str, Policy]]) -> tuple[SourceMap | None, dict[str, str]]:
    """Join the source maps and the texts; a file name that stands for two files gets the name of its layer."""
    files: list[str] = []
    rules: list[RuleSource] = []
    sources: dict[str, str] = {}
    for name, policy in given:
        places, texts = policy.source_map, policy.sources
        if places is None:
            return None, {}
        shown = {own: f"{name}:{own}" if own in files else own for own in places.files}
        numbers = range(len(files), len(files) + len(places.files))
        rules.extend(_moved(rule, numbers) for rule in places.rules)
        files.extend(shown.values())
        sources |= {shown[own]: text for own, text in texts.items() if own in shown}
    return SourceMap(tuple(files), tuple(rules)), sources


def _places_of(places: SourceMap, rules: Sequence[RuleSource]) -> SourceMap:
    used_files = sorted({file for rule in rules for file in (rule.file, *rule.leaf_files) if file >= 0})
    numbers = {file: number for number, file in enumerate(used_files)}
    return SourceMap(
        tuple([places.files[file] for file in used_files]), tuple([_moved(rule, numbers) for rule in rules])
    )


def _moved(rule: RuleSource, numbers: Mapping[int, int] | Sequence[int]) -> RuleSource:
    """Return the source of a rule with new numbers of its files."""
    leaf_files = tuple([numbers[file] for file in rule.leaf_files])
    return replace(rule, file=numbers[rule.file] if rule.file >= 0 else -1, leaf_files=leaf_files)


def _signatures(policy: Policy) -> dict[str, LayerSignatures]:
    data = policy.signed_parts[2]
    try:
        return msgspec.json.decode(data or b"{}", type=dict[str, LayerSignatures])
    except (ValueError, RecursionError) as error:
        raise BundleError("bad_signature", f"section `layer_signatures` is malformed: {error}") from error


def _carried(given: Sequence[tuple[str, Policy, bool]], base: Policy | None) -> bytes:
    """Return the section with the signatures of the layers that came from signed bundles."""
    carried = {} if base is None else _signatures(base)
    for name, policy, _ in given:
        signed, signatures, _ = policy.signed_parts
        if signatures:
            each = msgspec.json.decode(signatures, type=tuple[BundleSignature, ...])
            carried[name] = LayerSignatures(signed.hex(), each)
    return msgspec.json.encode(carried, order="sorted") if carried else b""
