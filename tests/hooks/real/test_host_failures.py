"""Hooks that fail, in the real hosts: the call runs only where no setting prevents it, and `doctor` says so."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from bobcat.cli.hooks.settings import FAILURES, HOST_SETTINGS
from hooks.real.conftest import make
from hooks.real.programs import BIN, Scratch, mounts

SCRIPTS = {
    "crashed": ["exit 1", "exit 3", "kill -SEGV $$", "kill -ABRT $$", "echo '{}' >&2; exit 255"],
    "killed": ["kill -KILL $$"],
    "timeout": ["exec sleep 40"],
    "no_json": ["echo hello", """echo '{"hookSpecificOutput": {"hookEve'""", "true"],
}
"""Programs in the place of the hook, by the kind of their failure."""


@pytest.mark.parametrize(
    ("failure", "script"), [(failure, script) for failure, scripts in SCRIPTS.items() for script in scripts]
)
def test_a_failing_program_in_the_place_of_the_hook(scratch: Scratch, failure: str, script: str) -> None:
    scratch.install()
    scratch.replace_hook(script)
    _assert_as_doctor_says(scratch, failure)


def test_a_hook_that_is_missing(scratch: Scratch) -> None:
    scratch.install()
    scratch.hook.unlink()
    _assert_as_doctor_says(scratch, "missing")


def test_a_hook_that_cannot_be_executed(scratch: Scratch) -> None:
    scratch.install()
    scratch.hook.chmod(0o644)
    _assert_as_doctor_says(scratch, "missing")


def _assert_as_doctor_says(scratch: Scratch, failure: str) -> None:
    """The command ran if and only if the host is known to be open to this failure, and `doctor` reports that."""
    ran = scratch.run("touch ran")
    opens = failure in HOST_SETTINGS[scratch.host].opens
    report = scratch.gate()
    said = " ".join(finding["message"] for finding in report["findings"])
    assert (scratch.files(), report["gate"]) == (({"ran"}, "off") if opens else (set(), "refuses")), (ran, report)
    assert (FAILURES[failure] in said) == opens


@pytest.mark.parametrize("host", ["claude-code"])
@pytest.mark.parametrize("script", ["exit 1", "kill -KILL $$"])
def test_without_its_switch_a_host_runs_the_call(tmp_path: Path, host: str, script: str) -> None:
    """The switch that `bobcat install` sets is what refuses; `doctor` reports that it is missing."""
    scratch = make(host, tmp_path)  # type: ignore[arg-type]  # one of the hosts
    scratch.install()
    file = Path(scratch.gate()["hooks"][0]["file"])
    file.write_text(file.read_text().replace(',\n            "onFailure": "block"', ""))
    assert "not_fail_closed" in str(scratch.gate())
    scratch.replace_hook(script)
    scratch.run("touch ran")
    assert (scratch.files(), scratch.gate()["gate"]) == ({"ran"}, "off")


COMMANDS = ["touch ran", f"touch ran; : {'x' * 100_000}"]
"""A short call, and one that does not fit into a pipe: a hook that ends before it has read it breaks the pipe."""


@pytest.mark.parametrize("command", COMMANDS, ids=["short", "long"])
@pytest.mark.parametrize("damage", ["cut", "missing", "empty", "yaml", "directory"])
def test_a_bundle_that_cannot_be_used_refuses_everywhere(scratch: Scratch, damage: str, command: str) -> None:
    scratch.install()
    bundle = scratch.project / "policy.bobcat"
    data = bundle.read_bytes()
    bundle.unlink()
    match damage:
        case "cut":
            bundle.write_bytes(data[:-4])
        case "empty":
            bundle.write_bytes(b"")
        case "yaml":
            bundle.write_text("rules: []")
        case "directory":
            bundle.mkdir()
        case _:
            pass
    ran = scratch.run(command)
    assert (scratch.files(), scratch.gate()["gate"], ran.finished) == (set(), "refuses", True), ran


@pytest.mark.parametrize("command", COMMANDS, ids=["short", "long"])
@pytest.mark.parametrize("redirection", ["> /dev/full", "> /dev/null", ">&-", "< /dev/null", "<&-", "< /dev/zero"])
def test_a_hook_whose_streams_fail_refuses_everywhere(scratch: Scratch, redirection: str, command: str) -> None:
    if "<" not in redirection:
        command = "touch denied" + command.removeprefix("touch ran")  # an allow writes nothing
    scratch.install()
    real = scratch.bin / "real-hook"
    shutil.copy2(BIN / "bobcat-hook", real)
    scratch.replace_hook(f'exec {shlex.quote(str(real))} "$@" {redirection}')
    ran = scratch.run(command)
    assert scratch.files() == set(), ran


@pytest.mark.parametrize("command", ["touch ran", "touch denied"])
def test_a_home_that_cannot_be_written(scratch: Scratch, command: str) -> None:
    """The call that is allowed may run or not, as the host copes; the one that is denied never runs."""
    if not mounts():
        pytest.skip("needs `unshare --mount`")
    scratch.install()
    home = shlex.quote(str(scratch.home))
    mount = f'mount --bind {home} {home} && mount -o remount,bind,ro {home} && exec "$@"'
    scratch.around = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    ran = scratch.run(command)
    assert scratch.files() <= ({"ran"} if command == "touch ran" else set()), ran


@pytest.mark.parametrize("command", ["touch ran", "touch denied"])
def test_a_full_disk(scratch: Scratch, command: str) -> None:
    """The temporary directory is full."""
    if not mounts():
        pytest.skip("needs `unshare --mount`")
    scratch.install()
    full = scratch.bin / "full"
    full.mkdir()
    place = shlex.quote(str(full))
    mount = f'mount -t tmpfs -o size=4k none {place} && {{ cat /dev/zero > {place}/x 2>/dev/null; exec "$@"; }}'
    scratch.around = ["unshare", "--mount", "--map-root-user", "sh", "-c", mount, "sh"]
    scratch.environ["TMPDIR"] = str(full)
    ran = scratch.run(command)
    assert scratch.files() <= ({"ran"} if command == "touch ran" else set()), ran
