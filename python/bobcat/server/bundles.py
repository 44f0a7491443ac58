"""The HTTP application of a bundle server: the bundles of a directory, and uploads of newer ones.

`GET /bundles/NAME` answers the file `NAME.bundle` with an entity tag, `PUT` replaces it under the rules of
`bobcat.distribution.bundle_file`. A reader gets a whole file; what it may trust, it checks itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bobcat.bundle import file
from bobcat.distribution.bundle_file import BundleFile
from bobcat.distribution.release import Keys, Release, check_fresh, read_release
from bobcat.distribution.source import SUFFIX
from bobcat.errors import BundleError, SourceError
from bobcat.logs import logger
from bobcat.server.limits import Tokens

try:
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("a bundle server needs `pip install 'bobcat[serve]'`", name=error.name) from error

log = logger("server")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
CONFLICTS = frozenset({"old_epoch", "epoch_reused"})
MAX_UPLOAD_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pushing:
    """Who may upload: holders of one of `tokens`, bundles that one of `trust` has signed."""

    tokens: Tokens
    trust: Keys


def create_bundle_app(directory: Path, *, readers: Tokens | None = None, pushing: Pushing | None = None) -> Starlette:
    """Build the application. Without `readers` all who can connect may read; without `pushing` pushes are refused."""
    server = _BundleServer(directory, readers, pushing)
    return Starlette(
        routes=[
            Route("/bundles", server.guarded(server.listing), methods=["GET"]),
            Route("/bundles/{name}", server.guarded(server.bundle), methods=["GET", "HEAD"]),
            Route("/bundles/{name}", server.upload, methods=["PUT"]),
            Route("/health", server.health, methods=["GET"]),
        ]
    )


class _BundleServer:
    def __init__(self, directory: Path, readers: Tokens | None, pushing: Pushing | None) -> None:
        self._directory, self._readers, self._pushing = directory, readers, pushing
        self._known: dict[Path, tuple[tuple[int, int, int], bytes, Release]] = {}

    def guarded(self, endpoint: Callable[[Request], Response]) -> Any:  # Any: an endpoint of Starlette
        """The endpoint in a thread, behind the tokens of readers."""

        async def handle(request: Request) -> Response:
            header = request.headers.get("authorization")
            accepted = [self._readers, None if self._pushing is None else self._pushing.tokens]
            if self._readers is not None and not any(each.accepts(header) for each in accepted if each is not None):
                return _unauthorized()
            return await asyncio.to_thread(endpoint, request)

        return handle

    def bundle(self, request: Request) -> Response:
        """One bundle, or 304 if the client has it."""
        path = self._path(request)
        if path is None:
            return _error(404, "not_found", "a name has letters, digits, `-`, `_` and `.`")
        try:
            data, release = self._read(path)
        except FileNotFoundError:
            return _error(404, "not_found", f"there is no bundle `{path.name.removesuffix(SUFFIX)}`")
        except (BundleError, OSError) as error:
            log.error("%s is not served: %s", path, error)
            return _error(503, "damaged", "the bundle is damaged")
        tag = f'"{release.content}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Bobcat-Policy": release.digest}
        if release.epoch is not None:
            headers["Bobcat-Epoch"] = str(release.epoch)
        if _matches(request.headers.get("if-none-match"), tag):
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers, media_type="application/octet-stream")

    def listing(self, _: Request) -> Response:
        """The releases of all bundles."""
        found = {}
        for path in sorted(self._directory.glob(f"*{SUFFIX}")):
            name = path.name.removesuffix(SUFFIX)
            if NAME.fullmatch(name) is None:
                continue
            try:
                found[name] = self._read(path)[1].to_json(datetime.now(UTC))
            except (BundleError, OSError) as error:
                found[name] = {"problem": str(error)}
        return JSONResponse({"bundles": found})

    async def upload(self, request: Request) -> Response:
        """A newer release of one bundle."""
        pushing = self._pushing
        if pushing is None:
            return _error(405, "read_only", "this server takes no bundles")
        if not pushing.tokens.accepts(request.headers.get("authorization")):
            return _unauthorized()
        path = self._path(request)
        if path is None:
            return _error(404, "not_found", "a name has letters, digits, `-`, `_` and `.`")
        chunks, size = [], 0
        try:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MAX_UPLOAD_BYTES:
                    return _error(413, "too_large", f"the bundle is larger than {MAX_UPLOAD_BYTES} bytes")
                chunks.append(chunk)
        except ClientDisconnect:
            return _error(400, "bad_request", "the client went away")
        return await asyncio.to_thread(self._written, path, b"".join(chunks), pushing.trust)

    def _written(self, path: Path, data: bytes, trust: Keys) -> Response:
        try:
            if read_release(data, trust).epoch is None:
                raise BundleError("no_epoch", "the bundle has no epoch")
            check_fresh(read_release(data, trust), datetime.now(UTC))
            new, before = BundleFile(path, trust).write(data)
        except BundleError as error:
            return _error(409 if error.code in CONFLICTS else 422, error.code, str(error))
        except SourceError as error:
            return _error(503, error.code, str(error))
        except OSError:
            log.exception("a bundle could not be written")
            return _error(500, "internal", "the bundle could not be written")
        changed = before is None or before.content != new.content
        if changed:
            log.info("%s: %s", path, new.text)
        return JSONResponse({**new.to_json(datetime.now(UTC)), "changed": changed}, 201 if changed else 200)

    async def health(self, _: Request) -> Response:
        """Say that the directory can be read."""
        readable = await asyncio.to_thread(self._directory.is_dir)
        return PlainTextResponse("ok\n" if readable else "no directory\n", 200 if readable else 503)

    def _path(self, request: Request) -> Path | None:
        name = request.path_params["name"]
        return self._directory / f"{name}{SUFFIX}" if NAME.fullmatch(name) else None

    def _read(self, path: Path) -> tuple[bytes, Release]:
        """The bytes and the release; read again only when the file was replaced."""
        found = path.stat()
        state = found.st_ino, found.st_size, found.st_mtime_ns
        known = self._known.get(path)
        if known is None or known[0] != state:
            data = file.read(path)
            known = self._known[path] = state, data, read_release(data, None)
        return known[1], known[2]


def _matches(header: str | None, tag: str) -> bool:
    """Return true if an `If-None-Match` header has the tag; weak comparison, as the standard wants."""
    tags = [each.strip().removeprefix("W/") for each in (header or "").split(",")]
    return tag in tags or tags == ["*"]


def _unauthorized() -> Response:
    return _error(401, "unauthorized", "a bearer token is required", {"WWW-Authenticate": "Bearer"})


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, headers)
