"""Exact answers about policies: the calls that they permit, and the calls that a change permits.

    from pathlib import Path
    from bobcat import analysis

    found = analysis.diff(Path("old.yaml"), Path("new.yaml"))
    for region in found.loosening:
        print(region.change, region.witness)

Each question has three answers: a `Witness`, a call that was decided by the policy itself; a `Proof` that there is no
such call; or `Unknown`, with the reasons. `docs/reference/analysis.md` lists what is exact. Nothing here runs in a
worker: decisions never need it.
"""

from __future__ import annotations

from bobcat.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
