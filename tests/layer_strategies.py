"""Generated policies of layers, with the layers one by one."""

from __future__ import annotations

from hypothesis import strategies as st

from bobcat import Policy
from bobcat.bundle.layers import layered
from bobcat.ir import construct
from bobcat.ir.schema import Defaults, IrPolicy
from oracle.layers import LayerOf
from strategies import policies, rules

ALLOW = Defaults("allow", "allow", "deny")


@st.composite
def limit_policies(draw: st.DrawFn) -> IrPolicy:
    return construct.policy([draw(rules(index)) for index in range(draw(st.integers(0, 3)))], defaults=ALLOW)


@st.composite
def layered_policies(draw: st.DrawFn) -> tuple[list[LayerOf], str]:
    names = ["org", "team", "run"][: draw(st.integers(1, 3))]
    layers = [LayerOf(name, Policy.from_policy(draw(policies()))) for name in names]
    if draw(st.booleans()):
        layers.append(LayerOf("org-limits", Policy.from_policy(draw(limit_policies())), limits=True))
    return layers, draw(st.sampled_from(["strictest", "first", "last", "strict_overrides_loose"]))


def joined(layers: list[LayerOf], combine: str) -> Policy:
    plain = {layer.name: layer.policy for layer in layers if not layer.limits}
    limits = {layer.name.removesuffix("-limits"): layer.policy for layer in layers if layer.limits}
    # Not `Policy.layered`: it refuses rules that always exceed the limits.
    return layered(plain, combine=combine, limits=limits)  # type: ignore[arg-type]  # a Literal
