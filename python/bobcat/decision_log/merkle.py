"""Merkle trees as in RFC 9162, section 2.1: roots, inclusion proofs and consistency proofs.

The tree of a log has one leaf per entry: `leaf_hash` of the 32 bytes of the entry's hash. A range that begins behind
pruned entries keeps the roots of the complete subtrees before it (`peaks`), which is all that later proofs need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

EMPTY_ROOT = sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf."""
    return sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node."""
    return sha256(b"\1" + left + right).digest()


class MerkleTree:
    """A growing tree that keeps only `peaks`: the roots of its complete subtrees, the largest first."""

    def __init__(self, size: int = 0, peaks: Iterable[bytes] = ()) -> None:
        self.size, self.peaks = size, list(peaks)
        if size < 0 or len(self.peaks) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {max(size, 0).bit_count()} peaks, not {len(self.peaks)}")

    def add(self, leaf: bytes) -> None:
        """Add the hash of a leaf."""
        self.peaks.append(leaf)
        complete = self.size
        while complete & 1:
            right = self.peaks.pop()
            self.peaks[-1] = node_hash(self.peaks[-1], right)
            complete >>= 1
        self.size += 1

    def root(self) -> bytes:
        """The root."""
        if not self.peaks:
            return EMPTY_ROOT
        found = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            found = node_hash(peak, found)
        return found


class LeafRange:
    """The leaves of a tree from `start` on, with the peaks of the leaves before them: for proofs."""

    def __init__(self, leaves: Sequence[bytes], *, start: int = 0, peaks: Sequence[bytes] = ()) -> None:
        self._leaves, self._start = leaves, start
        self._peaks: dict[tuple[int, int], bytes] = {}
        position = 0
        for bit in range(start.bit_length() - 1, -1, -1):
            if start >> bit & 1:
                self._peaks[position, position + (1 << bit)] = peaks[len(self._peaks)]
                position += 1 << bit

    def root(self, size: int) -> bytes:
        """The root of the tree of the first `size` leaves."""
        self._check(size)
        return self._hash(0, size) if size else EMPTY_ROOT

    def inclusion(self, index: int, size: int) -> list[bytes]:
        """Prove that the leaf at `index` is in the tree of `size` leaves. Raises `ValueError` for a pruned leaf."""
        self._check(size)
        if not self._start <= index < size:
            raise ValueError(f"leaf {index} is not among the leaves {self._start} to {size - 1}")
        path: list[bytes] = []
        low, high = 0, size
        while high - low > 1:
            middle = low + _split(high - low)
            if index < middle:
                path.append(self._hash(middle, high))
                high = middle
            else:
                path.append(self._hash(low, middle))
                low = middle
        return path[::-1]

    def consistency(self, old: int, size: int) -> list[bytes]:
        """Prove that the tree of `old` leaves is the beginning of that of `size` leaves; `old` is at least 1."""
        self._check(size)
        if not max(self._start, 1) <= old <= size:
            raise ValueError(f"size {old} is not among the sizes {max(self._start, 1)} to {size}")
        path: list[bytes] = []
        low, high, whole = 0, size, True
        while old != high:
            middle = low + _split(high - low)
            if old <= middle:
                path.append(self._hash(middle, high))
                high = middle
            else:
                path.append(self._hash(low, middle))
                low, whole = middle, False
        if not whole:
            path.append(self._hash(low, high))
        return path[::-1]

    def _check(self, size: int) -> None:
        end = self._start + len(self._leaves)
        if not self._start <= size <= end:
            raise ValueError(f"size {size} is not among the sizes {self._start} to {end}")

    def _hash(self, low: int, high: int) -> bytes:
        if (low, high) in self._peaks:
            return self._peaks[low, high]
        if high - low == 1:
            return self._leaves[low - self._start]
        middle = low + _split(high - low)
        return node_hash(self._hash(low, middle), self._hash(middle, high))


def verify_inclusion(leaf: bytes, *, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Check an inclusion proof (RFC 9162, 2.1.3.2). `leaf` is the hash of the leaf."""
    if not 0 <= index < size:
        return False
    position, last, found = index, size - 1, leaf
    for sibling in path:
        if last == 0:
            return False
        if position & 1 or position == last:
            found = node_hash(sibling, found)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            found = node_hash(found, sibling)
        position >>= 1
        last >>= 1
    return last == 0 and found == root


def verify_consistency(
    *, old: int, size: int, old_root: bytes, root: bytes, path: Sequence[bytes]
) -> bool:  # fmt: skip
    """Check a consistency proof (RFC 9162, 2.1.4.2)."""
    if not 0 < old <= size:
        return False
    if old == size:
        return not path and old_root == root
    nodes = [old_root, *path] if old & (old - 1) == 0 else list(path)
    if not nodes:
        return False
    position, last = old - 1, size - 1
    while position & 1:
        position >>= 1
        last >>= 1
    old_found = found = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old_found, found = node_hash(node, old_found), node_hash(node, found)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            found = node_hash(found, node)
        position >>= 1
        last >>= 1
    return last == 0 and old_found == old_root and found == root


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)
