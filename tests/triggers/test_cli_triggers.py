"""`bobcat triggers`: the whole life of a trigger, exit codes, and JSON."""

from __future__ import annotations

import json
import subprocess
import sys

from triggers.conftest import APP, BOT, Place


def bobcat(place: Place, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bobcat", "triggers", *args, "--store", f"sqlite:///{place.path}/runs.db"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


async def test_the_life_of_a_trigger(place: Place) -> None:
    id = await place.triggers.propose("note", every=3600, by=BOT, payload={"x": "\x1b[31m"})
    assert f"{id}  proposed  note  every 3600 s  by agent bot" in bobcat(place, "list").stdout
    shown = bobcat(place, "show", id).stdout
    assert '"x"' in shown
    assert "\x1b" not in shown
    refused = bobcat(place, "confirm", id, "--app", str(APP), "--by", "bot")
    assert (refused.returncode, "self_approval" in refused.stderr) == (4, True)
    assert "active" in bobcat(place, "confirm", id, "--app", str(APP), "--by", "alice").stdout
    assert "paused" in bobcat(place, "pause", id).stdout
    again = bobcat(place, "pause", id)
    assert (again.returncode, "Traceback" in again.stderr) == (4, False)
    assert "active" in bobcat(place, "resume", id).stdout
    assert json.loads(bobcat(place, "list", "--format", "json").stdout)[0]["consent"]["by"]["id"] == "alice"
    assert json.loads(bobcat(place, "history", id, "--format", "json").stdout) == []
    assert "deleted" in bobcat(place, "delete", id).stdout
    assert bobcat(place, "list").stdout == ""
    assert bobcat(place, "show", "unknown").returncode == 3
