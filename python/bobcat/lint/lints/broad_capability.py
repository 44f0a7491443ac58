"""A capability or a resource that permits more than most do.

What it does: finds capabilities that change a whole resource, run interpreters with any arguments, call every tool of a
    server or execute every statement, and resources that are every file, every name below a public suffix, or `http`.
Why: an agent does what a text that it reads tells it to do, as far as its capabilities go.
Example: `{action: fs.write, resource: "ws:**"}`.
Use instead: `{action: fs.write, resource: "ws:out/**"}`.
Fix: by hand; if the breadth is intended, ignore the finding with a comment.
"""

from __future__ import annotations

CODES = ("W0144",)
