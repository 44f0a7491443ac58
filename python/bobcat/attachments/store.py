"""Attachments in the documents of a store, by digest: equal bytes are stored once.

A document of kind `attachment` has the size under the digest. It is written after the chunks, so a digest that is found
is complete. Reading verifies the digest.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from bobcat.attachments.limits import AttachmentLimits
from bobcat.errors import AttachmentError
from bobcat.model.attachment import Attachment
from bobcat.stores.protocol import DurableStore, Entry, VersionConflict, erasable

KIND, CHUNK_KIND = "attachment", "attachment.chunk"
CHUNK = 512 * 1024
"""Bytes of one chunk, before their encoding."""


class AttachmentStore:
    """The attachments in one store. `limits` are checked before anything is written."""

    def __init__(self, store: DurableStore, *, limits: AttachmentLimits | None = None) -> None:
        self._store, self._limits = store, limits or AttachmentLimits()

    async def save(self, attachments: Sequence[Attachment]) -> None:
        """Keep the attachments of one message. Raises `AttachmentError` before anything is written."""
        self._limits.check(attachments)
        contents = {each.digest: each.content() for each in attachments}
        for digest, data in contents.items():
            await self._keep(digest, data)

    async def load(self, attachments: Iterable[Attachment]) -> tuple[Attachment, ...]:
        """The attachments with their data. Raises `AttachmentError`: `missing`, `damaged`."""
        return tuple([await self._loaded(each) for each in attachments])

    async def read(self, digest: str) -> bytes:
        """The bytes with a digest. Raises `AttachmentError`: `missing`, `damaged`."""
        head = await self._store.get(KIND, digest)
        if head is None:
            raise AttachmentError("missing", f"the store has no attachment `{digest}`")
        size = head.body.get("size")
        if type(size) is not int or size < 0:
            raise _damaged(digest)
        found = b"".join([await self._chunk(digest, number) for number in range(_chunks(size))])
        if len(found) != size or sha256(found).hexdigest() != digest:
            raise _damaged(digest)
        return found

    async def documents(self, digest: str) -> list[Entry]:
        """The documents of an attachment as they are now, for `remove`: the one that declares it complete first."""
        head = await self._store.get(KIND, digest)
        found = [] if head is None else [head]
        after = f"{digest}/"
        while page := await self._store.scan(CHUNK_KIND, after=after):
            found += [entry for entry in page if entry.key.startswith(f"{digest}/")]
            after = page[-1].key
            if not after.startswith(f"{digest}/"):
                break
        return found

    async def remove(self, documents: Sequence[Entry]) -> bool:
        """Remove an attachment that is as `documents` read it; false for one that was saved since.

        Raises `StoreError` (`not_erasable`).
        """
        store = erasable(self._store)
        for entry in documents:
            try:
                removed = await store.discard(entry)
            except VersionConflict:
                removed = False
            if not removed and entry.kind == KIND:
                return False
        return True

    async def _keep(self, digest: str, data: bytes) -> None:
        """Write an attachment, or renew one that is complete, so that a removal that has begun is refused."""
        while True:
            head = await self._store.get(KIND, digest)
            if head is None or not await self._is_complete(digest, data):
                await self._write(digest, data)
                return
            try:
                await self._store.put(KIND, digest, head.body, expected=head.version)
                return
            except VersionConflict:
                continue

    async def _is_complete(self, digest: str, data: bytes) -> bool:
        try:
            return await self.read(digest) == data
        except AttachmentError:
            return False

    async def _write(self, digest: str, data: bytes) -> None:
        for number in range(_chunks(len(data))):
            part = data[number * CHUNK : (number + 1) * CHUNK]
            await self._put(CHUNK_KIND, _key(digest, number), {"data": base64.b64encode(part).decode()})
        await self._put(KIND, digest, {"size": len(data)})

    async def _put(self, kind: str, key: str, body: Mapping[str, Any]) -> None:
        """Write a document whose body follows from its key, beside other writers. An equal one is written again."""
        while True:
            known = await self._store.get(kind, key)
            try:
                await self._store.put(kind, key, body, expected=0 if known is None else known.version)
                return
            except VersionConflict:
                continue

    async def _chunk(self, digest: str, number: int) -> bytes:
        entry = await self._store.get(CHUNK_KIND, _key(digest, number))
        if entry is None:
            raise _damaged(digest)
        try:
            return base64.b64decode(entry.body["data"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise _damaged(digest) from error

    async def _loaded(self, attachment: Attachment) -> Attachment:
        if attachment.data is not None:
            return attachment
        return replace(attachment, data=await self.read(attachment.digest))


def _key(digest: str, number: int) -> str:
    return f"{digest}/{number:05d}"


def _chunks(size: int) -> int:
    return -(-size // CHUNK)


def _damaged(digest: str) -> AttachmentError:
    return AttachmentError("damaged", f"attachment `{digest}` in the store is incomplete, or not that of its digest")
