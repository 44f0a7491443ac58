"""Migration of policies: older spellings to the current ones, and policies of lynx-agent to the strict profile.

    findings ──► candidate edits ──► proof ──► text

`migrate` is the entry. An edit is made only if the policy keeps its meaning in the profile that it is written for, so
that an unfinished migration decides as before; the rest is reported.
"""

from __future__ import annotations

from bobcat.migration.migrate import Change, Migration, migrate

__all__ = ["Change", "Migration", "migrate"]
