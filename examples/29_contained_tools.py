"""Contained tools: capabilities permit files and a program, the tools open nothing else, and a change is undone."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from bobcat import Guard, Policy, Undo
from bobcat.providers import files, processes

POLICY = """
defaults: {on_missing_shadow: deny}
resources: {ws: {kind: path, root: .}}
capabilities:
  - {action: [fs.read, fs.list], resource: "ws:**"}
  - {action: fs.write, resource: "ws:notes/**/*.md", max_bytes: 1MB, undo: required}
  - {action: proc.run, program: wc, argv: [-w]}
rules:
  - {id: hidden, match: {tool.starts_with: fs., args.path.path.components.any.starts_with: .}, decision: deny}
  - {id: undo-writes, match: {tool: undo.apply, args.tool: fs.write, args.force: false}, decision: allow}
"""
NOTE = "notes/plan.md"
CALLS = (
    ("fs.read", {"path": NOTE}),
    ("fs.read", {"path": "notes/../.env"}),
    ("fs.read", {"path": "notes/link.md"}),
    ("fs.write", {"path": "notes/../../plan.md", "content": ""}),
    ("proc.run", {"program": "wc", "argv": ["-w"], "stdin": "three plain words"}),
    ("proc.run", {"program": "wc", "argv": ["--files0-from=.env"]}),
)


async def main(workspace: Path) -> None:
    async with Undo(workspace.parent / "undo.db") as undo:
        tools = undo.protect(files(workspace, base=workspace)).union(undo.tools())
        if sys.platform == "linux":
            tools = tools.union(processes(["wc"], cwd=workspace))
        async with Guard(Policy.compile(POLICY), tools) as guard:
            for tool, args in CALLS:
                outcome = await guard.submit(tool, args)
                value = outcome.value or {}
                print(tool, *args.values(), "->", outcome.error or value.get("content") or value["stdout"].strip())
            note = workspace / NOTE
            wrote = await guard.submit("fs.write", {"path": NOTE, "content": "nothing"})
            print("written:", note.read_text())
            entry = {"id": wrote.opened["undo"], "tool": "fs.write", "target": str(note)}
            undone = await guard.submit("undo.apply", entry)
            print("undone:", undone.status, "->", note.read_text())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory).resolve() / "workspace"
        (workspace / "notes").mkdir(parents=True)
        (workspace / NOTE).write_text("measure, then decide")
        (workspace / ".env").write_text("PASSWORD=hunter2")
        (workspace / "notes" / "link.md").symlink_to("../.env")
        asyncio.run(main(workspace))
