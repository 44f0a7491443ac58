"""Policies at two revisions of a git repository, with the files that they include there.

The files of a revision are written into a temporary directory, in their own places, so that includes are found as in a
checkout. Modules of rules are only listed: reading one runs its code.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bobcat.cli.failures import InputError

if TYPE_CHECKING:
    from bobcat.bundle import Policy
    from bobcat.cli.inputs import Profile

MAX_ARCHIVE_BYTES = 1 << 30
"""Bytes of the policies and other YAML files of a revision."""
_ENDINGS = ("yaml", "yml")
_MODULE_OF_RULES = re.compile(rb"^\s*(@(bobcat\.)?rule\b|(from|import)\s+bobcat\.build\b)", re.MULTILINE)
"""The text of a module that marks rules, or builds policies."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """Two commits, with the names that they were given."""

    old: str
    new: str
    old_name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One policy that differs, with its path in the repository on each side, and the roots of both revisions.

    A path is None on a side on which the policy does not exist. The paths of a renamed policy are different.
    """

    old: str | None
    new: str | None
    roots: tuple[Path, Path]

    def load(self, names: Sequence[str], given: Compilation) -> tuple[Policy, Policy]:
        """Compile both sides; one that does not exist denies every call. Raises `PolicyCompileError`.

        `names` are those of the revisions, for the report of an error.
        """
        sides = zip((self.old, self.new), self.roots, names, strict=True)
        old, new = (_compiled(path, root, name, given) for path, root, name in sides)
        return old, new


@dataclass(frozen=True, slots=True)
class Compilation:
    """Options with which both sides of a policy are compiled; `variables` are values by name."""

    profile: Profile
    variables: Mapping[str, Any]  # Any: values, checked against the policy's own


def revisions_of(text: str) -> Revisions:
    """Read `A...B`, from their merge base, or `A..B`; an empty side is `HEAD`."""
    old, dots, new = text.partition("...")
    merged = bool(dots)
    if not dots:
        old, dots, new = text.partition("..")
    if not dots:
        raise click.UsageError(f"`--git {text}`: write A...B, or A..B")
    names = [name or "HEAD" for name in (old, new)]
    commits = [_commit(name) for name in names]
    if merged:
        commits[0] = _git("merge-base", *commits).decode().strip()
    return Revisions(commits[0], commits[1], *names)


def _commit(name: str) -> str:
    if name.startswith("-"):
        raise click.UsageError(f"`--git`: `{name}` is not a revision")
    return (
        _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", what=name).decode().strip()
    )


@contextmanager
def changed_policies(revisions: Revisions, paths: Sequence[str]) -> Iterator[list[Changed]]:
    """Yield the policies below some paths that differ between two revisions, by themselves or by what they include."""
    top = _top()
    wanted = [_inside(path, top) for path in paths]
    for path, place in zip(paths, wanted, strict=True):
        if not any(_exists(commit, place) for commit in (revisions.old, revisions.new)):
            raise click.UsageError(f"`{path}` is in neither revision")
    with tempfile.TemporaryDirectory(prefix="bobcat-diff-") as directory:
        roots = [Path(directory, side) for side in ("old", "new")]
        for root, commit in zip(roots, (revisions.old, revisions.new), strict=True):
            root.mkdir()
            _extract(commit, top, root)
        yield list(_changed(roots, wanted, _renames(revisions, top)))


def changed_modules(revisions: Revisions, paths: Sequence[str]) -> list[str]:
    """Return the modules of rules below some paths that differ between two revisions, sorted: they are not compared."""
    top = _top()
    wanted = [_inside(path, top) for path in paths]
    listed = _git(
        "-C", top, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z",
        revisions.old, revisions.new, "--", "*.py",
    ).decode("utf-8", "surrogateescape").split("\0")  # fmt: skip
    return [
        path
        for path in sorted(filter(None, listed))
        if (not wanted or any(_is_below(path, place) for place in wanted))
        and any(_MODULE_OF_RULES.search(_text(commit, path)) for commit in (revisions.old, revisions.new))
    ]


def _text(commit: str, path: str) -> bytes:
    """Return a file of a commit; nothing for one that it does not have."""
    return _git("cat-file", "blob", f"{commit}:{path}") if _exists(commit, path) else b""


def _top() -> str:
    return _git("rev-parse", "--show-toplevel").decode().rstrip("\n")


def _exists(commit: str, place: str) -> bool:
    return place == "." or bool(_git("ls-tree", "--full-tree", "--name-only", commit, "--", place))


def _renames(revisions: Revisions, top: str) -> dict[str, str]:
    """Return the new paths of renamed files, by their old ones; git compares the contents."""
    # Pairs are listed: `R100`, the old path and the new one.
    fields = _git(
        "-C", top, "diff", "--name-status", "--find-renames", "--diff-filter=R", "--no-ext-diff", "-z",
        revisions.old, revisions.new,
    ).decode("utf-8", "surrogateescape").split("\0")  # fmt: skip
    return dict(zip(fields[1::3], fields[2::3], strict=False))


def _changed(roots: Sequence[Path], wanted: Sequence[str], renames: Mapping[str, str]) -> Iterator[Changed]:
    from bobcat.cli.policy_files import policies_below
    from bobcat.frontend.strict.includes import included_files

    content: list[dict[str, dict[str, bytes]]] = []
    for root in roots:
        policies = policies_below(str(root)).policies
        files = {path: [path, *included_files(path, str(root))] for path in policies}
        included = {os.path.realpath(file) for own in files.values() for file in own[1:]}
        content.append({
            os.path.relpath(path, root): {os.path.relpath(file, root): Path(file).read_bytes() for file in own}
            for path, own in files.items()
            if os.path.realpath(path) not in included
        })  # fmt: skip
    old, new = content
    moved = {
        was: now for was, now in renames.items() if was in old and was not in new and now in new and now not in old
    }
    arrived = set(moved.values())
    for path in sorted({*old, *new} - arrived):
        now = moved.get(path, path)
        is_wanted = not wanted or any(_is_below(one, place) for one in (path, now) for place in wanted)
        if is_wanted and (path != now or old.get(path) != new.get(path)):
            yield Changed(path if path in old else None, now if now in new else None, (roots[0], roots[1]))


def _compiled(path: str | None, root: Path, revision: str, given: Compilation) -> Policy:
    from bobcat.analysis.inputs import denies_everything
    from bobcat.compiler import load_policy_file
    from bobcat.errors import PolicyCompileError, PolicyWarning
    from bobcat.text.display import safe_text

    if path is None:
        return denies_everything()
    # Findings and rules have paths in the repository; warnings are for `bobcat check`.
    with chdir(root), warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyWarning)
        try:
            return load_policy_file(path, profile=given.profile, vars=given.variables, include_root=".")
        except PolicyCompileError:
            click.echo(f"error: cannot compile `{safe_text(revision)}:{safe_text(path)}`", err=True)
            raise


def _is_below(path: str, place: str) -> bool:
    return place == "." or path == place or path.startswith(f"{place}/")


def _inside(path: str, top: str) -> str:
    """Return a path from the current directory as one from the top of the repository."""
    found = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    if found.startswith(".."):
        raise click.UsageError(f"`{path}` is outside of the repository")
    return found


def _extract(commit: str, top: str, root: Path) -> None:
    """Write the YAML files of a commit below a directory."""
    listed = _git("-C", top, "ls-tree", "-r", "--name-only", "-z", commit).split(b"\0")
    # git refuses a pattern that no file matches.
    patterns = [
        f":(glob)**/*.{ending}" for ending in _ENDINGS if any(name.endswith(f".{ending}".encode()) for name in listed)
    ]
    if not patterns:
        return
    data = _git("-C", top, "archive", "--format=tar", commit, "--", *patterns)
    if len(data) > MAX_ARCHIVE_BYTES:
        raise InputError(f"the YAML files of {commit[:12]} have more than {MAX_ARCHIVE_BYTES:,} bytes")
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]  # links are not followed
        archive.extractall(root, members, filter="data")


def _git(*arguments: str, what: str = "") -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError as error:
        raise InputError(f"cannot run git: {error.strerror}") from error
    if done.returncode:
        problem = done.stderr.decode("utf-8", "replace").strip() or f"`{what or arguments[0]}` is not a revision"
        raise InputError(f"git: {problem.splitlines()[-1]}")
    return done.stdout
