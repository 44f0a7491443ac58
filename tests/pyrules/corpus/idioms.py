"""Rules in the idioms of people who know Python: keys, stars, formats, exact types, views, changes of what they made."""

import math
import operator
from collections import Counter

from bobcat import allow, approve_required, deny, transform

SECRETS = ("password", "secret")
REQUIRED = {"path", "cmd"}
PERCENT = 100


def largest_attachment(req, ctx):
    attachments = req.args["attachments"]
    if not attachments:
        return None
    heaviest = max(attachments, key=lambda item: item["size"])
    return deny("largest has %d bytes" % heaviest["size"]) if heaviest["size"] > 5_000_000 else None


def cheapest_line(req, ctx):
    line = min(req.args.get("lines", []), key=lambda line: line["price"], default=None)
    if line is not None and line["price"] < 2:
        return deny("{:.2f} for {count} is too little".format(line["price"], count=line["count"]))
    return None


def by_length(req, ctx):
    ordered = sorted(req.args.get("paths", ()), key=len, reverse=True)
    return deny(f"longest first: {', '.join(ordered)}") if ordered else None


def by_text(req, ctx):
    return deny(str(sorted(req.args["ids"], key=str)))


def by_kind(req, ctx):
    kinds = sorted(req.args["items"], key=lambda item: (item.get("kind") or "", len(item)))
    return deny(repr(kinds))


def pipeline(req, ctx):
    first, *rest = req.args["cmd"].split("|")
    if rest and first.strip() in ("cat", "ls"):
        return deny("{0} into {1}, {0!r:>12}".format(first.strip(), len(rest)))
    return None


def both_ends(req, ctx):
    first, *middle, last = req.args["ids"]
    return deny("%s to %s over %s" % (first, last, middle)) if first != last else allow()


def only_known(req, ctx):
    extra = req.args.keys() - REQUIRED
    if extra:
        return deny("unknown: " + ", ".join(sorted(extra)[:3]))
    missing = REQUIRED - req.args.keys()
    return deny("missing: {}".format(", ".join(sorted(missing)))) if missing else allow()


def shared(req, ctx):
    both = req.args["customer"].keys() & ["tier", "name"]
    return deny(f"{sorted(both)}") if both ^ {"name"} else None


def whole_numbers(req, ctx):
    for name in ("amount", "n", "m"):
        value = req.args.get(name)
        if type(value) is int:
            return allow(name)
        if type(value) in (float, bool) or type(value) is str:
            return deny(f"{name} is no integer")
    return None


def finite(req, ctx):
    amount = req.args["amount"]
    if math.isnan(amount) or math.isinf(amount) or not math.isfinite(amount):
        return deny("no number")
    return approve_required(["a"], reason=f"{math.floor(amount)} to {math.ceil(amount)}")


def odd(req, ctx):
    n = req.args["n"]
    if n % 2:
        return deny("odd")
    return deny("%d of %s, %.1f %% of %r" % (n, req.tool, n / PERCENT, req.args.get("m")))


def in_dozens(req, ctx):
    dozens, rest = divmod(req.args["size"], 12)
    return deny(f"{dozens} dozens and {rest}, {pow(rest, 2)}, {ascii(req.tool)}")


def tallied(req, ctx):
    counts = {}
    for kind in req.args["ids"]:
        counts.setdefault(kind, 0)
        counts[kind] += 1
    worst = max(counts, key=lambda kind: counts[kind], default="nobody")
    return deny("%s most often" % worst) if len(counts) > 1 else None


def collected(req, ctx):
    found = [word for word in SECRETS if word in str(req.args).lower()]
    found.sort(reverse=True)
    if not found:
        found.append("nothing")
    found.reverse()
    text = ";".join(found)
    found.clear()
    return deny(f"{text} {found}")


def numbers_of_text(req, ctx):
    return deny("digits") if any(map(str.isdigit, req.args["paths"])) else None


def first_of_all(req, ctx):
    first = next(iter(req.args["ids"]), None)
    return deny(f"{first!r:>5}") if first else None


def by_field(req, ctx):
    environment = getattr(ctx, "environment", "prod")
    if environment == "prod" and not hasattr(req, "approved"):
        return deny(getattr(ctx, "ticket", "no ticket"))
    return None


def without_secrets(req, ctx):
    args = {key: value for key, value in req.args.items() if key not in SECRETS}
    args.setdefault("limit", 10)
    return transform(args, reason="%s" % ctx.principal.id)


def single(req, ctx):
    return deny("got %s" % req.args["target"])


def tied(req, ctx):
    pairs = [(line["count"], line["price"]) for line in req.args["lines"]]
    pairs.sort()
    return deny(str(sorted(pairs, key=lambda pair: pair[0], reverse=True)))


# What these do has no counterpart in a policy.


def counted(req, ctx):
    return deny("twice") if Counter(req.args["ids"]).most_common(1)[0][1] > 1 else None


def picked(req, ctx):
    return deny("large") if max(req.args["items"], key=operator.itemgetter("size"))["size"] > 5 else None
