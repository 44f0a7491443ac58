"""Persisted spellings that differ from the names in the code. Documents, records and audit lines keep them, so that
every release reads what another one wrote.
"""

from __future__ import annotations

APPROVAL_NOTIFIED = "told"
"""Key in the document of an approval: true after its approvers were notified."""

UNCERTAIN_EFFECT = "doubt"
"""Key in the body of `policy.evaluated`: the effect of an action that may already have run."""

ANSWER_REQUEUED = "woken"
"""Key in the JSON of `bobcat approvals grant`: true if the answer queued the run again."""


def is_refusal(message: object) -> bool:
    """Return true if the message of an `action.result` record is that of a denied call.

    Such records have no field for it, in journals of lynx-agent and of every release.
    """
    return isinstance(message, str) and message.startswith("[denied]")


def is_failure(message: str) -> bool:
    """Return true if a message with the answer to a call reports a failure or a denial: `Message` has no field for
    it.
    """
    return message.startswith(("[error]", "[denied]"))
