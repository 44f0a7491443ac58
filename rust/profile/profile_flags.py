"""Arguments for maturin: the profile of this machine's compiler, if there is one. See docs/adr/0009.

`python rust/profile/profile_flags.py` prints them as a shell takes them.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def profile_of(release: str, host: str) -> Path:
    """Return the path of a compiler's profile; the file may not exist."""
    return HERE / f"rustc-{release}-{host}.profdata"


def compiler() -> tuple[str, str]:
    """Return the release and the host of `rustc`.

    Raises OSError or subprocess.CalledProcessError without a working compiler.
    """
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    fields = dict(line.split(": ", 1) for line in version.splitlines() if ": " in line)
    return fields["release"], fields["host"]


def arguments() -> list[str]:
    """Return the arguments. RUSTFLAGS of the environment take precedence: cargo then ignores these."""
    try:
        profile = profile_of(*compiler())
    except (OSError, subprocess.CalledProcessError):
        return []  # maturin reports the problem
    if not profile.is_file():
        return []
    return ["--config", f"build.rustflags={json.dumps([f'-Cprofile-use={profile}'])}"]


if __name__ == "__main__":
    print(shlex.join(arguments()), end="")  # the end of a line would be `\r\n` on Windows, and `\r` an argument
