"""A report as one self-contained HTML page: no network, and readable without its script, which only searches."""

from __future__ import annotations

from bobcat.pages.html import document
from bobcat.report.access_html import access_section
from bobcat.report.model import PolicyReport
from bobcat.report.sections import (
    coverage_section,
    findings_section,
    rules_section,
    summary_section,
    traffic_section,
)

_FORM = (
    '<form class="find" role="search" id="find" hidden><label>Search rules and tools '
    '<input type="search" id="query" autocomplete="off" spellcheck="false"></label> '
    '<span class=quiet>key <kbd>/</kbd></span> <span id="count" role="status"></span></form>'
)
_SCRIPT = """
(() => {
  const form = document.getElementById("find"), input = document.getElementById("query");
  const count = document.getElementById("count");
  const rows = [...document.querySelectorAll("#rules-table > tbody > tr, #access-table > tbody > tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const filter = () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      const found = words.every((word) => texts[index].includes(word));
      if (row.hidden === found) row.hidden = !found;
      shown += found;
    });
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  };
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("input", filter);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && event.target === input) {
      input.value = "";
      filter();
    }
  });
  const show = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.hidden) { input.value = ""; filter(); target.scrollIntoView(); }
  };
  addEventListener("hashchange", show);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
})();
"""


def report_page(report: PolicyReport) -> str:
    """Return the whole page; equal reports give equal pages."""
    sections = {"summary": "Summary", "access": "Who may do what", "rules": "Rules", "findings": "Findings"}
    parts = [summary_section(report), _FORM, access_section(report), rules_section(report), findings_section(report)]
    if report.coverage:
        sections["coverage"] = "Coverage"
        parts.append(coverage_section(report))
    if report.traffic is not None:
        sections["traffic"] = "Traffic"
        parts.append(traffic_section(report))
    return document(f"Policy report: {report.name}", parts, sections=sections, script=_SCRIPT)
