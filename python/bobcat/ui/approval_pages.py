"""The pages about approvals: the list, and one question with its answers and the forms for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from html import escape
from typing import Any

from bobcat.approvals.inbox import ApprovalList
from bobcat.approvals.prompting import UNCERTAIN
from bobcat.approvals.record import Approval
from bobcat.pages.html import cell, code, facts, name, table, text
from bobcat.text.display import safe_args, safe_json
from bobcat.text.elapsed import since
from bobcat.ui.access import Session
from bobcat.ui.run_pages import status_html
from bobcat.ui.words import ago, approval_path, moment_text, run_path

STATUSES = ("pending", "granted", "denied", "expired", "withdrawn", "all")
MAX_ROWS = 500
"""Approvals on one page."""
ARGS_CHARS = 120
"""Characters of arguments in the list."""
MAX_REASON = 2_000
"""Characters of a reason."""


def list_parts(found: ApprovalList, status: str, now: datetime) -> Iterator[str]:
    """The links to the other lists, and the table, oldest first."""
    links = (
        f"<b>{each}</b>" if each == status else f'<a href="/approvals?status={each}">{each}</a>' for each in STATUSES
    )
    yield f"<p>Show: {' · '.join(links)}</p>"
    for item in found.unreadable:
        yield f'<p class="notice">The approval {code(item.id)} is left out: {text(item.problem)}</p>'
    rows = [_row(each, now) for each in found.approvals[:MAX_ROWS]]
    if not rows:
        yield f"<p>No {'' if status == 'all' else status + ' '}approvals.</p>"
        return
    columns = (("approval", ""), ("status", ""), ("asked", ""), ("arguments", ""), ("reason", ""), ("approvers", ""))
    yield table(columns, rows, label="Approvals")
    if len(found.approvals) > MAX_ROWS:
        yield f"<p class=quiet>{len(found.approvals) - MAX_ROWS:,} newer approvals are left out.</p>"


def _row(each: Approval, now: datetime) -> str:
    left = f"<br>{since(each.expires, now)} left" if each.status == "pending" and each.expires else ""
    caution = '<br><b class="part">uncertain</b>' if each.uncertain else ""
    args = escape(safe_json(each.args, limit=ARGS_CHARS))
    return (
        f'<tr><th scope="row"><a href="{approval_path(each.id)}">{name(each.tool, limit=80)}</a><br>'
        f'<span class=quiet>run <a href="{run_path(each.run_id)}">{name(each.run_id, limit=80)}</a></span></th>'
        f"{cell(status_html(each.status) + caution)}{cell(ago(each.created, now) + left)}{cell(f'<code>{args}</code>')}"
        f"{cell(text(each.reason, limit=300))}{cell(', '.join(map(name, each.approvers)) or 'anybody')}</tr>"
    )


def question_parts(
    each: Approval, workspace: str | None, now: datetime, session: Session, *, answers: bool
) -> Iterator[str]:
    """The whole question, the answers so far, and the forms if this person may answer."""
    if each.uncertain:
        yield f'<p class="notice"><b class="part">{text(UNCERTAIN)}</b></p>'
    round = f", round {each.round}" if each.round else ""
    needed = f"{each.needed} of " if each.needed > 1 else ""
    yield facts(
        [
            ("status", status_html(each.status)),
            ("run", f'<a href="{run_path(each.run_id)}">{name(each.run_id)}</a>, step {each.step}{round}'),
            ("tool", code(each.tool)),
            ("arguments", _args(each.args)),
            ("edited", "" if each.edited is None else _args(each.edited)),
            ("directory", "" if workspace is None else code(workspace)),
            ("for", f"{name(each.principal)}, {name(each.environment)}"),
            ("rule", ", ".join(map(name, each.rules))),
            ("reason", text(each.reason)),
            ("notes", "<br>".join(map(text, each.notes))),
            ("approvers", needed + (", ".join(map(name, each.approvers)) or "anybody")),
            ("policy", code(each.bundle_id)),
            ("asked", f"{moment_text(each.created)}, {ago(each.created, now)}"),
            ("until", "" if each.expires is None else moment_text(each.expires)),
            ("consumed", "" if each.used is None else moment_text(each.used)),
            ("notified", f"no: {text(each.notify_error)}" if each.notify_error else ""),
        ]
    )
    if each.answers:
        rows = (
            f'<tr><th scope="row">{name(given.approver)}</th>'
            f"{cell(status_html('granted' if given.granted else 'denied'))}"
            f"{cell(moment_text(given.at))}{cell(text(given.reason))}</tr>"
            for given in each.answers
        )
        yield table((("approver", ""), ("answer", ""), ("time", ""), ("reason", "")), rows, label="Answers")
    if each.status == "pending":
        yield from _forms(each, session, answers=answers)


def _args(args: Mapping[str, Any]) -> str:  # Any: JSON
    """The whole arguments: an approver sees all that a grant permits."""
    items = "".join(f"<li><code>{escape(line)}</code></li>" for line in safe_args(args, indent=""))
    return f'<ul class="args">{items}</ul>' if items else "none"


def _forms(each: Approval, session: Session, *, answers: bool) -> Iterator[str]:
    who = session.holder.name
    if not answers:
        yield '<p class="notice">This server only shows: start it with <code>--allow-answers</code> to answer here.</p>'
    elif not who:
        yield '<p class="notice">You are signed in without the name of an approver, so you can only read.</p>'
    elif each.approvers and who not in each.approvers:
        yield f'<p class="notice">You are signed in as {name(who)}, who is not among the approvers.</p>'
    elif who in each.granted_by:
        yield f'<p class="notice">You have granted this as {name(who)}; other approvers are needed.</p>' + _form(
            each, session, "deny", "Deny", "The model sees it."
        )
    else:
        yield f"<p>You answer as <b>{name(who)}</b>.</p>"
        yield _form(each, session, "grant", "Grant", "It is kept with the answer.")
        yield _form(each, session, "deny", "Deny", "The model sees it.")


def _form(each: Approval, session: Session, answer: str, label: str, hint: str) -> str:
    mark = session.mark(f"/approvals/{each.id}/{answer}")
    caution = (
        '<p><label><input type="checkbox" name="uncertain" value="yes" required> I have checked: the action may happen '
        "twice</label></p>"
        if each.uncertain and answer == "grant"
        else ""
    )
    return (
        f'<form method="post" action="{approval_path(each.id)}/{answer}" class="card"><input type="hidden" name="mark" '
        f'value="{mark}"><input type="hidden" name="digest" value="{escape(each.digest)}">{caution}'
        f'<p><label>Reason<br><input name="reason" maxlength="{MAX_REASON}" size="60" autocomplete="off"></label> '
        f'<span class=quiet>{hint}</span></p><p><button id="{answer}">{label}</button></p></form>'
    )
