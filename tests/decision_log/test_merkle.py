"""Merkle trees: the roots that RFC 6962 implementations agree on, and every proof beside the RFC's own recursion."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.decision_log.merkle import (
    LeafRange,
    MerkleTree,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)

INPUTS = tuple(
    map(
        bytes.fromhex,
        ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
)
"""The inputs of the test vectors that implementations of Certificate Transparency share."""
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
sizes = st.integers(1, 70)


def mth(data: list[bytes]) -> bytes:
    """The definition in section 2.1.1, word by word."""
    if not data:
        return sha256(b"").digest()
    if len(data) == 1:
        return sha256(b"\x00" + data[0]).digest()
    split = 1
    while split * 2 < len(data):
        split *= 2
    return sha256(b"\x01" + mth(data[:split]) + mth(data[split:])).digest()


def path(index: int, data: list[bytes]) -> list[bytes]:
    """The definition of PATH in section 2.1.3.1."""
    if len(data) == 1:
        return []
    split = 1
    while split * 2 < len(data):
        split *= 2
    if index < split:
        return [*path(index, data[:split]), mth(data[split:])]
    return [*path(index - split, data[split:]), mth(data[:split])]


def subproof(old: int, data: list[bytes], whole: bool) -> list[bytes]:
    """The definition of SUBPROOF in section 2.1.4.1."""
    if old == len(data):
        return [] if whole else [mth(data)]
    split = 1
    while split * 2 < len(data):
        split *= 2
    if old <= split:
        return [*subproof(old, data[:split], whole), mth(data[split:])]
    return [*subproof(old - split, data[split:], False), mth(data[:split])]


def data_of(size: int) -> list[bytes]:
    return [bytes([index]) for index in range(size)]


def whole(size: int) -> LeafRange:
    return LeafRange([leaf_hash(data) for data in data_of(size)])


@pytest.mark.parametrize("size", range(9))
def test_roots_are_those_of_the_shared_vectors(size: int) -> None:
    leaves = [leaf_hash(data) for data in INPUTS[:size]]
    tree = MerkleTree()
    for leaf in leaves:
        tree.add(leaf)
    assert mth(list(INPUTS[:size])).hex() == ROOTS[size]
    assert tree.root().hex() == LeafRange(leaves).root(size).hex() == ROOTS[size]


@given(sizes, st.data())
def test_inclusion_proofs_are_the_definitions_and_verify(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof = whole(size).inclusion(index, size)
    assert proof == path(index, data_of(size))
    leaf, root = leaf_hash(data_of(size)[index]), mth(data_of(size))
    assert verify_inclusion(leaf, index=index, size=size, path=proof, root=root)
    for wrong in range(size):
        if wrong != index:
            assert not verify_inclusion(leaf, index=wrong, size=size, path=proof, root=root)
    assert not verify_inclusion(leaf, index=index, size=size, path=[*proof, root], root=root)
    assert not verify_inclusion(leaf_hash(b"another"), index=index, size=size, path=proof, root=root)
    for place in range(len(proof)):
        changed = [*proof[:place], node_hash(proof[place], root), *proof[place + 1 :]]
        assert not verify_inclusion(leaf, index=index, size=size, path=changed, root=root)
        shorter = [*proof[:place], *proof[place + 1 :]]
        assert not verify_inclusion(leaf, index=index, size=size, path=shorter, root=root)


@given(sizes, st.data())
def test_consistency_proofs_are_the_definitions_and_verify(size: int, data: st.DataObject) -> None:
    old = data.draw(st.integers(1, size))
    proof = whole(size).consistency(old, size)
    assert proof == subproof(old, data_of(size), True)
    old_root, root = mth(data_of(old)), mth(data_of(size))
    assert verify_consistency(old=old, size=size, old_root=old_root, root=root, path=proof)
    assert not verify_consistency(old=old, size=size, old_root=leaf_hash(b"x"), root=root, path=proof)
    assert not verify_consistency(old=old, size=size, old_root=old_root, root=leaf_hash(b"x"), path=proof)
    assert not verify_consistency(old=old, size=size, old_root=old_root, root=root, path=[*proof, root])
    for place in range(len(proof)):
        changed = [*proof[:place], leaf_hash(proof[place]), *proof[place + 1 :]]
        assert not verify_consistency(old=old, size=size, old_root=old_root, root=root, path=changed)


@given(sizes, st.data())
def test_a_range_behind_pruned_leaves_gives_the_same_proofs(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size))
    leaves = [leaf_hash(each) for each in data_of(size)]
    before = MerkleTree()
    for leaf in leaves[:start]:
        before.add(leaf)
    rest, all_leaves = LeafRange(leaves[start:], start=start, peaks=before.peaks), LeafRange(leaves)
    for end in range(start, size + 1):
        assert rest.root(end) == all_leaves.root(end)
    for index in range(start, size):
        assert rest.inclusion(index, size) == all_leaves.inclusion(index, size)
    for old in range(max(start, 1), size + 1):
        assert rest.consistency(old, size) == all_leaves.consistency(old, size)
    for index in range(start):
        with pytest.raises(ValueError, match="is not among the leaves"):
            rest.inclusion(index, size)


def test_sizes_and_peaks_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(ValueError, match="a tree of 3 leaves has 2 peaks, not 1"):
        MerkleTree(3, [b""])
    with pytest.raises(ValueError, match="is not among the sizes"):
        whole(3).root(4)
    with pytest.raises(ValueError, match="is not among the sizes"):
        whole(3).consistency(0, 3)
    assert not verify_inclusion(b"", index=0, size=0, path=[], root=b"")
    assert not verify_consistency(old=0, size=3, old_root=b"", root=b"", path=[])
    assert not verify_consistency(old=3, size=5, old_root=b"", root=b"", path=[])
