"""Rules about money: tiers, limits, currencies, totals."""

import bobcat
from bobcat import Decision, Verdict, allow, approve_required, deny, dry_run

TIERS = [(50, None), (500, ("lead",)), (5_000, ("lead", "finance"))]
LIMITS = {"bronze": 100, "silver": 500, "gold": 2_500}
CURRENCIES = {"EUR": 1.0, "USD": 0.92, "GBP": 1.17}
BLOCKED_COUNTRIES = {"KP", "IR"}


def refund_tiers(req, ctx):
    """Small refunds run, larger ones ask, the largest are refused."""
    if req.tool != "issue_refund":
        return None
    amount = req.args["amount"]
    if not isinstance(amount, (int, float)) or isinstance(amount, bool) or amount <= 0:
        return deny("the amount is not a positive number")
    for limit, approvers in TIERS:
        if amount <= limit:
            if approvers is None:
                return allow(f"up to {limit}")
            return approve_required(approvers, reason=f"{amount} is over the free limit")
    return deny(f"{amount} is more than anybody may refund")


def refund_chain(request, context):
    amount = request.args.get("amount", 0)
    if request.tool != "issue_refund":
        return None
    if 0 < amount <= 50:
        return bobcat.allow("small")
    if 50 < amount <= 500:
        return bobcat.approve_required(("lead",), 900, "medium")
    if 500 < amount <= 5000:
        return bobcat.approve_required(("lead", "finance"), None, "large")
    return bobcat.deny("out of range")


def by_customer_class(req, ctx):
    tier = req.args.get("customer", {}).get("tier", "bronze")
    limit = LIMITS[tier]
    if req.args["amount"] > limit:
        return deny(f"{tier} customers get {limit} at most")


def in_euros(amount, currency):
    return amount * CURRENCIES[currency]


def converted_limit(req, ctx):
    try:
        value = in_euros(req.args["amount"], req.args.get("currency", "EUR"))
    except KeyError:
        return deny("unknown currency or no amount")
    except TypeError:
        return deny("the amount is no number")
    return deny(f"{value:.2f} EUR") if value > 1_000 else None


def sum_of_lines(req, ctx):
    total = 0
    for line in req.args.get("lines", []):
        total += line["price"] * line.get("count", 1)
    if total != req.args.get("total"):
        return deny(f"the lines come to {total}, not {req.args.get('total')}")
    return None


def no_embargo(req, ctx):
    country = (req.args.get("country") or "").strip().upper()
    if country in BLOCKED_COUNTRIES:
        return Decision(Verdict.DENY, f"no payments to {country}")
    return None


def round_numbers_are_suspicious(req, ctx):
    amount = req.args.get("amount")
    if isinstance(amount, int) and not isinstance(amount, bool) and amount >= 1000:
        cents = int(amount) % 1000
        if cents == 0:
            return dry_run("a round number")
    return None


def split_payments(req, ctx):
    amounts = [part["amount"] for part in req.args.get("parts", [])]
    if len(amounts) > 1 and max(amounts) - min(amounts) < 0.01 * max(amounts):
        return approve_required(("fraud",), reason=f"{len(amounts)} parts of about {amounts[0]}")


def lucky_discount(req, ctx):
    percent = req.args.get("percent", 0)
    return deny("too generous") if percent > 30 or percent < 0 else (allow() if percent else None)


def spend_over_budget(req, ctx):
    budget = ctx.extra.get("budget", {})
    spent = budget.get("spent", 0)
    limit = budget.get("limit")
    if limit is None:
        return None
    left = limit - spent
    cost = req.args.get("cost", 0)
    return deny(f"{cost} asked, {left} left") if cost > left else None
