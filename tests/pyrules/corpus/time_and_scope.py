"""Rules about when and who: windows, environments, principals, scopes."""

import datetime
import functools
import os
import random
import time
from datetime import UTC

from bobcat import approve_required, deny, rule

FREEZE = (datetime.datetime(2026, 12, 20, tzinfo=UTC), datetime.datetime(2027, 1, 2, tzinfo=UTC))
ADMINS = {"alice", "bob"}
OFFICE = range(9, 17)
NEEDED = {"deploy": {"write", "prod"}, "read_file": {"read"}, "restart": {"write"}}


@rule(priority=10)
def office_hours(req, ctx):
    now = ctx.timestamp
    if now.weekday() >= 5 or not 9 <= now.hour < 17:
        return approve_required(("on-call",), reason=f"outside of office hours ({now.hour:02d}:{now.minute:02d})")
    return None


@rule(priority=20, id="freeze")
def change_freeze(req, ctx):
    start, end = FREEZE
    if req.tool == "deploy" and start <= ctx.timestamp < end:
        return deny("the change freeze is on")
    return None


def night_batch(req, ctx):
    minutes = ctx.timestamp.hour * 60 + ctx.timestamp.minute
    if req.tool == "batch" and not (minutes >= 22 * 60 or minutes < 6 * 60):
        return deny("batches run at night")


def production_is_for_services(req, ctx):
    principal = ctx.principal
    if ctx.environment == "prod" and principal.kind != "service" and principal.id not in ADMINS:
        return deny(f"{principal.kind} {principal.id} may not act in prod")
    return None


def has_scopes(req, ctx):
    missing = NEEDED.get(req.tool, set()) - set(ctx.extra.get("scopes", []))
    if missing:
        return deny("missing scopes: " + ", ".join(sorted(missing)))
    return None


def declared_scope(req, ctx):
    return deny("a tool without scope") if not req.declared.scope and not req.declared.reversible else None


def cautious_with_blast(req, ctx):
    radius = req.declared.blast_radius_hint
    if radius is not None and radius > 100:
        return approve_required(("sre",), reason=f"touches {radius} things")


def own_tickets(req, ctx):
    owner = req.args.get("owner")
    return None if owner is None or owner == ctx.principal.id else deny(f"the ticket belongs to {owner}")


def expensive_tools(req, ctx):
    match (req.declared.cost, ctx.environment):
        case ("high", "prod"):
            return approve_required(("finance",))
        case ("high", env):
            return deny(f"too expensive for {env}")
        case ("low" | "medium", _):
            return None
        case (other, _):
            return deny(f"unknown cost {other}")


def first_steps_only(req, ctx):
    return deny("too late in the run") if ctx.step_seq > 20 and req.tool.startswith("delete_") else None


def limited(req, ctx, *, limit=3):
    count = len(ctx.extra.get("calls", ()))
    if count >= limit:
        return deny(f"{count} calls already")


strictly_limited = functools.partial(limited, limit=1)

tenant_match = lambda req, ctx: deny("another tenant") if req.args.get("tenant") != ctx.extra.get("tenant") else None  # noqa: E731


def maintenance(req, ctx):
    if datetime.datetime.now(UTC).hour < 4:
        return deny("maintenance")


def from_environment(req, ctx):
    return deny("off") if os.environ.get("AGENT_OFF") == "1" else None


def recent_enough(req, ctx):
    return deny("stale") if time.time() - req.args.get("issued", 0) > 300 else None


def sampled(req, ctx):
    return approve_required(("audit",)) if random.random() < 0.01 else None


def make_minimum(role, ranks=("viewer", "editor", "owner")):
    least = ranks.index(role)

    def minimum_role(req, ctx):
        mine = ctx.extra.get("role", "viewer")
        if mine not in ranks or ranks.index(mine) < least:
            return deny(f"{mine} is less than {role}")
        return None

    return minimum_role


minimum_role = make_minimum("editor")
