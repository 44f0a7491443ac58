"""Rules about paths: escapes, roots, suffixes, hidden files."""

import os.path
import posixpath
import re
from pathlib import PurePosixPath

from bobcat import Decision, allow, approve_required, deny

ROOTS = ("/srv/agent/", "/tmp/agent/")
SECRETS = (".env", "id_rsa", "credentials.json", ".pem")
HIDDEN = re.compile(r"(^|/)\.[^./]")
SUFFIXES = {".py": "source", ".md": "text", ".csv": "data"}
MAX_DEPTH = 6


def no_parent_steps(req, ctx):
    path = req.args.get("path", "")
    if ".." in path.split("/"):
        return deny("the path leaves its directory")
    return None


def stay_inside(request, context):
    """Normalise first, then compare with the roots."""
    if request.tool not in ("read_file", "write_file", "delete_file"):
        return None
    path = posixpath.normpath(request.args["path"])
    if not path.startswith("/"):
        path = context.workspace.rstrip("/") + "/" + path
    for root in ROOTS:
        if path.startswith(root):
            return None
    return deny(f"{path} is outside of {', '.join(ROOTS)}")


def no_secret_files(req, ctx):
    name = os.path.basename(req.args.get("path") or "")
    if any(name == secret or name.endswith(secret) for secret in SECRETS):
        return deny(f"secret file: {name}")


def hidden_files_need_approval(req, ctx):
    path = req.args.get("path")
    if isinstance(path, str) and HIDDEN.search(path):
        return approve_required(("ops",), reason=f"hidden file {path!r}")
    return None


def _depth(path):
    return len([part for part in path.split("/") if part])


def not_too_deep(req, ctx):
    depth = _depth(req.args.get("path", ""))
    return deny(f"{depth} levels, the limit is {MAX_DEPTH}") if depth > MAX_DEPTH else None


def known_suffixes_only(req, ctx):
    if req.tool != "write_file":
        return None
    _, suffix = posixpath.splitext(req.args["path"])
    kind = SUFFIXES.get(suffix)
    if kind is None:
        return deny(f"no rule for files of kind {suffix or '(none)'}")
    return allow(f"{kind} file")


def workspace_relative(req, ctx):
    path = req.args["path"]
    full = path if path.startswith("/") else posixpath.join(ctx.workspace, path)
    parts: list[str] = []
    for part in full.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                return deny("above the root")
            parts.pop()
        else:
            parts.append(part)
    clean = "/" + "/".join(parts)
    if clean != ctx.workspace and not clean.startswith(ctx.workspace + "/"):
        return deny(f"{clean} is not in {ctx.workspace}")
    return None


def copies_stay_in_one_tree(req: "Request", ctx: "Context") -> Decision | None:
    source: str = req.args["source"]
    target: str = req.args["target"]
    first = source.strip("/").split("/")[0]
    if target.strip("/").partition("/")[0] != first:
        return deny(f"from {first} to another tree")
    return None


def every_path_of_a_batch(req, ctx):
    paths = req.args.get("paths", [])
    outside = [p for p in paths if not p.startswith(ROOTS)]
    if outside:
        more = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
        return deny(f"outside: {outside[0]}{more}")
    return None


def no_windows_devices(req, ctx):
    stem = req.args.get("path", "").rsplit("/", 1)[-1].split(".")[0].upper()
    return deny("a device") if stem in {"CON", "PRN", "AUX", "NUL"} else None


def pure_path_parts(req, ctx):
    return deny("secrets") if "secrets" in PurePosixPath(req.args["path"]).parts else None
