"""The bounds of policies of layers hold for every combiner."""

from __future__ import annotations

from bobcat.bounds.layers import LayerBound, combined


def bound(fired: str, defaults: str = "", *, limits: bool = False) -> LayerBound:
    return LayerBound(frozenset(fired.split()), frozenset(defaults.split()), limits)


def test_a_layer_that_always_denies_denies_under_the_strictest_only() -> None:
    loose, strict = bound("allow"), bound("deny")
    assert combined([loose, strict], "strictest") == {"deny"}
    assert combined([loose, strict], "first") == {"allow"}
    assert combined([loose, strict], "last") == {"deny"}
    assert combined([loose, bound("", "deny")], "strict_overrides_loose") == {"allow"}
    assert combined([loose, bound("deny", limits=True)], "first") == {"deny"}
    assert combined([bound("", "deny"), bound("", "allow")], "last") == {"deny"}
