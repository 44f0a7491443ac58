"""An outcome of a whole run without what differs on purpose between `bobcat` and lynx-agent 2.5.

Each thing that is left out here has a line in `docs/migrating-from-lynx.md`; its option is named beside it.
"""

from __future__ import annotations

from typing import Any

Event = tuple[str, dict[str, Any]]
Record = tuple[str, str, dict[str, Any]]

_IDS = ("bundle_id", "journaled_bundle_id", "current_bundle_id", "records")
_OURS = ("duration_ms", "chain", "binding", "effect", *_IDS)
_OUR_KINDS = ("approval.requested", "approval.granted", "run.failed", "run.cancelled", "action.abandoned")


_COMMON_KEYS = {
    "run.started": ("task", "principal_id"),
    "policy.evaluated": ("seq", "verdict", "reason", "matched_rules"),
}
_UNCERTAIN = "; an earlier attempt of this action may have taken effect"


def head(text: str) -> str:
    """A message without its traceback and its note of uncertainty (`resolves_uncertain`), with the tag of a granted
    failure.
    """
    text = text.removesuffix(_UNCERTAIN).replace("[denied] denied: ", "[denied] ")  # says_denied_once
    return text.splitlines()[0].replace("[denied] ValueError", "[error] ValueError") if text else ""


def common_events(events: list[Event]) -> list[Event]:
    """The events that both have, as both have them."""
    common = []
    for kind, body in events:
        kept = {key: value for key, value in body.items() if key not in ("duration_ms", "approver", *_IDS)}
        if kind in ("policy.evaluated", "action.started"):
            kept.pop("args", None)  # audits_effective_args
        if kind in ("run.started", "policy.evaluated"):
            kept = {key: value for key, value in kept.items() if key in _COMMON_KEYS[kind]}  # audits_decisions
        if isinstance(kept.get("reason"), str):
            kept["reason"] = head(kept["reason"])
        granted_failure = "ValueError" in str(kept)
        if kind in ("approval.granted", "approval.denied"):  # approval_precedes_action
            kind, kept = "approval", {"seq": kept["seq"]}
        if kind == "action.denied" and granted_failure:
            kind = "action.failed"
        refused = kind == "policy.evaluated" and "code" in body  # audits_decisions
        if kind != "run.unbounded" and not refused:  # announces_unbounded
            common.append((kind, kept))
    return common


def common_records(records: list[Record]) -> list[Record]:
    """The records that both keep, as both keep them."""
    common, refused = [], {body["step"] for kind, _, body in records if _refused(kind, body)}
    for kind, key, body in records:
        unknown = kind == "action.result" and body["verdict"] is None  # journals_ends: a call of an unknown tool
        if kind in _OUR_KINDS or unknown:  # journals_approvals, journals_ends
            continue
        kept = {name: value for name, value in body.items() if name not in _OURS}
        if kind == "action.intent":
            kept.pop("args", None)
            if body["step"] in refused:  # intent_follows_approval
                continue
        for name in ("message", "error"):
            if isinstance(kept.get(name), str):
                kept[name] = head(kept[name])
        common.append((kind, key, kept))
    return common


def _refused(kind: str, body: dict[str, Any]) -> bool:
    return (
        kind == "action.result" and body["verdict"] == "approve_required" and "approval refused" in str(body["error"])
    )
