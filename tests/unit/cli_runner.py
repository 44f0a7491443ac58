"""Runs `bobcat` in this process, as a shell would."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bobcat.cli.main import main


@dataclass(frozen=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs `bobcat *args` with `stdin` and returns what it did."""

    def run(*args: str, stdin: str | bytes = b"") -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main(list(args))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        code = leaving.value.code
        return Done(code if isinstance(code, int) else 0, out, err)

    return run
