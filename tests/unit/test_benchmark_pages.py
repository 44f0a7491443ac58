"""The figures on pages are those of the committed results, which the commands of the Makefile write."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = "dbos_page engines.table figures memory_page shapes.table startup_page threads_page wide.table".split()


@pytest.fixture(autouse=True)
def benches_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benches"))


@pytest.mark.parametrize("module", MODULES)
def test_the_figures_on_the_pages_are_those_of_the_artefact(module: str) -> None:
    figures = importlib.import_module(module).FIGURES
    pages = figures.pages(figures.committed())
    assert {page: page.read_text(encoding="utf-8") for page in pages} == pages
    target = figures.command.removeprefix("make ")
    assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_every_module_of_figures_is_compared() -> None:
    benches = ROOT / "benches"
    found = {path for path in benches.rglob("*.py") if "\nFIGURES = " in path.read_text(encoding="utf-8")}
    assert found == {benches / f"{module.replace('.', '/')}.py" for module in MODULES}


def test_a_page_without_a_place_for_figures_is_an_error(tmp_path: Path) -> None:
    from page_figures import Figures

    page = tmp_path / "page.md"
    figures = Figures("one", "make bench", tmp_path / "results.json", {page: lambda results: f"{results['x']}\n"})
    page.write_text("a\n<!-- one: written by `make bench` -->\nold\n<!-- end of one -->\nb\n")
    figures.update({"x": 7})
    assert page.read_text() == "a\n<!-- one: written by `make bench` -->\n7\n<!-- end of one -->\nb\n"
    page.write_text("a\nb\n")
    with pytest.raises(ValueError, match="no place for figures named `one`"):
        figures.update({"x": 7})
