"""The style sheet of every page: light and dark, on screens and on paper."""

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --ground: #fff; --panel: #f6f8fa; --quiet: #59636e; --line: #d1d9e0;
  --good: #1a7f37; --bad: #b3261e; --part: #8a5a00; --note: #0550ae; --bar: #b35900; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --ground: #0d1117; --panel: #161b22; --quiet: #9198a1;
  --line: #30363d; --good: #56d364; --bad: #ff7b72; --part: #d29922; --note: #79c0ff; --bar: #e0913f; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 80rem; padding: 1rem;
  color: var(--ink); background: var(--ground); }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
a { color: var(--note); } a:focus-visible, input:focus-visible, button:focus-visible, summary:focus-visible,
  select:focus-visible, textarea:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--note);
  outline-offset: 2px; }
.skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem;
  background: var(--ground); border: 2px solid var(--note); z-index: 2; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: .25rem 0; }
th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody th { font-weight: 600; overflow-wrap: anywhere; } th.n, td.n { text-align: right; white-space: nowrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; }
dt { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: .9em; overflow-wrap: anywhere; } td ul { margin: .2rem 0; padding-left: 1.1rem; }
.args { margin: 0; padding-left: 1.1rem; } .args code { white-space: pre-wrap; }
.wide { overflow-x: auto; } th.wide { width: 70%; }
.rule td, .rule th { font-weight: 600; padding-top: .7rem; }
.clause td:first-child { padding-left: 1.25rem; }
.good { color: var(--good); } .bad { color: var(--bad); } .part { color: var(--part); } .quiet { color: var(--quiet); }
.note { color: var(--note); } b.good, b.bad, b.part, b.note, summary { font-weight: 600; }
.bar { background: var(--bar); height: .8em; display: block; min-width: 1px; }
pre { font-size: .85em; line-height: 1.45; overflow-x: auto; border: 1px solid var(--line); padding: .5rem 0; }
pre span { display: block; padding: 0 .75rem; border-left: .3rem solid transparent; }
pre .good { border-color: var(--good); color: inherit; } pre .bad { border-color: var(--bad); color: inherit; }
pre .part { border-color: var(--part); color: inherit; }
td pre { border: 0; margin: 0; padding: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
form.find { position: sticky; top: 0; background: var(--ground); padding: .5rem 0; z-index: 1; }
input, button, select, textarea { font: inherit; color: var(--ink); background: var(--ground); padding: .3rem .6rem;
  border: 1px solid var(--quiet); border-radius: .3rem; } button { cursor: pointer; background: var(--panel); }
.card { border: 1px solid var(--line); border-radius: .4rem; padding: .75rem 1rem; margin: 1rem 0; }
.notice { border-left: .3rem solid var(--part); background: var(--panel); padding: .5rem 1rem; }
tr:target, :target > h2, section:target > h2 { background: var(--panel); }
[hidden] { display: none !important; }
@media print { body { max-width: none; font-size: 11px; padding: 0; } .skip, nav, form.find { display: none; }
  a { color: inherit; text-decoration: none; } pre { white-space: pre-wrap; } tr, .card { break-inside: avoid; }
  thead { display: table-header-group; } details::details-content { content-visibility: visible; display: block; } }
"""
