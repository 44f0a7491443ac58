"""Patterns of paths in the permissions of Claude Code, which are those of gitignore with four kinds of anchors."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathRoots:
    """The directories that a pattern begins at."""

    home: str
    project: str


def permitted_path(spec: str, roots: PathRoots) -> str | None:
    """Return a pattern of absolute paths that `spec` names; None if it has no exact one."""
    if not re.fullmatch(r"[A-Za-z0-9_./~@+,= *-]+", spec) or ".." in spec:
        return None
    root, rest = _anchor(spec, roots)
    body = _glob(rest, deep=".*")
    start = f"{re.escape(root.rstrip('/'))}/"
    anywhere = "" if "/" in rest.rstrip("/") or rest != spec else "(.*/)?"
    return f"^{start}{_no_dots(anywhere + body)}$"


def _no_dots(body: str) -> str:
    """Let no segment be `..`: every `.*` and `[^/]*` stands for segments that begin with no dot, or with one."""
    segment = "([A-Za-z0-9_@+,= -]|[.][A-Za-z0-9_@+,= -])+[.]?"
    return (
        body.replace("(.*/)?", f"({segment}/)*")
        .replace(".*", f"{segment}(/{segment})*")
        .replace("[^/]*", "([A-Za-z0-9_@+,= -]|[.][A-Za-z0-9_@+,= -])*")
    )


def restricted_path(spec: str, roots: PathRoots) -> str:
    """Return a pattern that matches at least the paths that `spec` names, and everything below them."""
    _, rest = _anchor(spec, roots)
    body = _glob(rest.strip("/"), deep=".*")
    return f"(?is)(^|[/\\\\]){body}([/\\\\]|$)"


def plain_path() -> str:
    """Return a pattern of paths with another spelling: `.` or `..` as a segment, two slashes, a backslash."""
    return r"(^|/)[.]{1,2}(/|$)|//|\\|[\x00-\x1f]"


def text_of(spec: str) -> str:
    """Return the longest text of a pattern without wildcards, for shell commands; empty if no part is long enough."""
    pieces = [piece.strip("/ ") for piece in re.split(r"[*?\[\]{}~]|/\.\.?(?=/)|^\.\.?/", spec)]
    longest = max(pieces, key=len, default="")
    return longest.rsplit("/", 1)[-1] if len(longest) > 2 else ""


def _anchor(spec: str, roots: PathRoots) -> tuple[str, str]:
    if spec.startswith("//"):
        return "/", spec[2:]
    if spec.startswith("~/"):
        return roots.home, spec[2:]
    if spec.startswith("/"):
        return roots.project, spec[1:]
    return roots.project, spec.removeprefix("./")


def _glob(text: str, *, deep: str) -> str:
    out, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(.*/)?", at + 3
        elif text.startswith("**", at):
            out, at = out + deep, at + 2
        elif text[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif text[at] in "?[]{}!\\":  # wider: any character
            out, at = out + ".*", at + 1
        else:
            out, at = out + re.escape(text[at]), at + 1
    return out
