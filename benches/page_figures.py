"""Figures in pages: the text between two markers, made from a file of results and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PERFORMANCE = ROOT / "docs" / "explanation" / "performance.md"

Results = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Figures:
    """The results file of a command, and what each page shows of it between the markers with a name."""

    name: str
    command: str
    results: Path
    parts: Mapping[Path, Callable[[Results], str]]

    def committed(self) -> Results:
        """Read the committed results."""
        found: Results = json.loads(self.results.read_text(encoding="utf-8"))
        return found

    def pages(self, results: Results) -> dict[Path, str]:
        """Return the pages with the figures of `results` between their markers."""
        return {page: self._with(page, figures(results)) for page, figures in self.parts.items()}

    def update(self, results: Results) -> None:
        """Put the figures of `results` into the pages."""
        for page, text in self.pages(results).items():
            page.write_text(text, encoding="utf-8")

    def _with(self, page: Path, figures: str) -> str:
        begin, end = f"<!-- {self.name}: written by `{self.command}` -->\n", f"<!-- end of {self.name} -->\n"
        before, begun, rest = page.read_text(encoding="utf-8").partition(begin)
        _, ended, after = rest.partition(end)
        if not (begun and ended):
            raise ValueError(f"{page} has no place for figures named `{self.name}`")
        return f"{before}{begin}{figures}{end}{after}"
