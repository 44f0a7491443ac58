"""The fenced code blocks of the documentation, and how each kind is run.

* `python`: run, in order, in one namespace per page; a `text` or `output` block right after it is what it prints.
* any language with `title="NAME"`: written to the file NAME first.
* `console`: lines after `$ ` are run by a shell, the lines below are what they print (`...` stands for anything).
* a block marked `no-run`, and every other language: only read.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its info string, its text, the line it starts on, and whether it directly follows another."""

    info: str
    body: str
    line: int
    follows: bool

    @property
    def language(self) -> str:
        return self.info.split(" ")[0]

    @property
    def title(self) -> str | None:
        found = re.search(r'title="([^"]+)"', self.info)
        return found.group(1) if found else None


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a Markdown page, in order."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    end = 0
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found["info"].strip(), found["body"], line, follows=not text[end : found.start()].strip()))
        end = found.end()
    return blocks


def run_page(page: Path, scratch: Path) -> int:
    """Run the examples of a page in the directory `scratch`; return how many there were."""
    ran = 0
    namespace: dict[str, Any] = {"__name__": "__main__"}
    blocks = blocks_of(page)
    for index, block in enumerate(blocks):
        if "no-run" in block.info:
            continue
        if block.title:
            (scratch / block.title).write_text(block.body, encoding="utf-8")
        if block.language == "python" and not block.title:
            following = blocks[index + 1] if index + 1 < len(blocks) else None
            expected = (
                following.body if following and following.follows and following.language in ("text", "output") else None
            )
            _run_python(block, namespace, page, expected)
            ran += 1
        elif block.language == "console":
            _run_console(block, scratch, page)
            ran += 1
    return ran


def _run_python(block: Block, namespace: dict[str, Any], page: Path, expected: str | None) -> None:
    printed = io.StringIO()
    source = "\n" * block.line + block.body  # so that a traceback names the line of the page
    name = f"{page}:{block.line}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # rules are read from it
    with contextlib.redirect_stdout(printed):
        exec(compile(source, name, "exec"), namespace)
    if expected is not None:
        _compare(printed.getvalue(), expected, f"{page}:{block.line}")


def _run_console(block: Block, scratch: Path, page: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            ["bash", "-c", f"{{ {command}\n}} 2>&1"],
            cwd=scratch,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        _compare(done.stdout, expected, f"{page}:{block.line}: `{command}`")


def _compare(printed: str, expected: str, where: str) -> None:
    pattern = "".join(".*" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", expected.strip()))
    tidy = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert re.fullmatch(pattern, tidy, re.DOTALL), f"{where} prints\n{printed}\nthe page says\n{expected}"
