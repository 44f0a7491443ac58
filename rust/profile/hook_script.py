"""The native hook as a script of the package: built by cargo, put into wheels, environments and source distributions.

`python rust/profile/hook_script.py TARGET...` builds it and adds it to each target: a wheel, or the directory for
scripts of an environment. maturin builds one crate into a wheel, and the hook is another one.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from profile_flags import arguments

ROOT = Path(__file__).resolve().parents[2]
CRATE = "rust/hook"
PACKAGE = "bobcat-hook"
EXTENSION = "bobcat-py"
_EXECUTABLE = 0o100755
_WHEEL_DATE = (1980, 1, 1, 0, 0, 0)


def build() -> Path:
    """Build the hook in release mode and return the path of the program. Raises subprocess.CalledProcessError."""
    # The extension is named, not built: with its features of common crates, those of its build are used again.
    packages = ["--package", PACKAGE, "--package", EXTENSION, "--bin", PACKAGE]
    command = ["cargo", "build", "--release", "--locked", *packages, "--message-format=json", *arguments()]
    built = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    programs = [found for line in built.splitlines() if (found := json.loads(line).get("executable")) is not None]
    return Path(programs[-1])


def install(program: Path, directory: Path) -> None:
    """Put the program into a directory. A running one is replaced, not overwritten."""
    part = directory / f".{program.name}.part"
    shutil.copyfile(program, part)
    part.chmod(0o755)
    os.replace(part, directory / program.name)


def add_to_wheel(wheel: Path, program: Path) -> None:
    """Add the program to a wheel as a script, with its line in RECORD."""
    part = wheel.with_suffix(".part")
    content = program.read_bytes()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as made:
        [record] = [info for info in source.infolist() if info.filename.endswith(".dist-info/RECORD")]
        stem = record.filename.removesuffix(".dist-info/RECORD")
        script = zipfile.ZipInfo(f"{stem}.data/scripts/{program.name}", _WHEEL_DATE)
        script.external_attr = _EXECUTABLE << 16
        script.compress_type = zipfile.ZIP_DEFLATED
        for info in source.infolist():
            if info.filename not in (record.filename, script.filename):
                made.writestr(info, source.read(info))
        made.writestr(script, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines = [line for line in source.read(record).decode().splitlines() if not line.startswith(script.filename)]
        lines.insert(0, f"{script.filename},sha256={digest},{len(content)}")
        made.writestr(record, "\n".join(lines) + "\n")
    os.replace(part, wheel)


def add_to_sdist(archive: Path, root: Path = ROOT) -> None:
    """Add the crate to a source distribution, and the workspace with it: maturin ships what its own crate needs."""
    part = archive.with_suffix(".part")
    with tarfile.open(archive) as source, tarfile.open(part, "w:gz", format=tarfile.PAX_FORMAT) as made:
        members = source.getmembers()
        stem = members[0].name.partition("/")[0]
        added = {f"{stem}/{path.relative_to(root).as_posix()}": path for path in _sources(root)}
        for member in members:
            if member.name not in added:
                made.addfile(member, source.extractfile(member))
        for name, path in added.items():
            content = path.read_bytes()
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            made.addfile(info, io.BytesIO(content))
    os.replace(part, archive)


def _sources(root: Path) -> Iterator[Path]:
    yield root / "Cargo.toml"
    yield root / "Cargo.lock"
    yield from sorted(path for path in (root / CRATE).rglob("*") if path.is_file())


def main(targets: list[str]) -> None:
    """Build the hook and add it to each target."""
    program = build()
    for target in map(Path, targets):
        if target.is_dir():
            install(program, target)
        else:
            add_to_wheel(target, program)


if __name__ == "__main__":
    main(sys.argv[1:])
