"""The profile of this machine's compiler, as arguments for maturin; nothing for any other compiler. See docs/adr/0009.

`python rust/profile/profile_flags.py` prints them as a shell takes them.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def profile_of(release: str, host: str) -> Path:
    """The file of a compiler, which may not be there."""
    return HERE / f"rustc-{release}-{host}.profdata"


def compiler() -> tuple[str, str]:
    """The release and the host of `rustc`.

    Raises OSError or subprocess.CalledProcessError when there is none that works.
    """
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    fields = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    return fields["release"], fields["host"]


def arguments() -> list[str]:
    """What maturin is told. Flags in RUSTFLAGS come first: then cargo looks at these not at all."""
    try:
        profile = profile_of(*compiler())
    except (OSError, subprocess.CalledProcessError):
        return []  # maturin says what is wrong
    if not profile.is_file():
        return []
    return ["--config", f"build.rustflags={json.dumps([f'-Cprofile-use={profile}'])}"]


if __name__ == "__main__":
    print(shlex.join(arguments()))
