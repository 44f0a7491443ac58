"""Rules by people who put cases into tables: of functions, patterns, frozen objects, members of enumerations, times."""

import datetime as dt
import enum
import os.path
import re
from dataclasses import dataclass
from datetime import date, time
from typing import NamedTuple

from bobcat import allow, approve_required, deny


class Env(str, enum.Enum):  # noqa: UP042 - as it was written before Python 3.11
    DEV = "dev"
    STAGING = "staging"
    PROD = "prod"


@dataclass(frozen=True, slots=True)
class Band:
    low: float
    high: float
    who: tuple[str, ...] = ()

    def covers(self, amount):
        return self.low <= amount < self.high


class Quota(NamedTuple):
    tool: str
    limit: int


BANDS = (Band(0, 50), Band(50, 500, ("lead",)), Band(500, 5000, ("lead", "finance")))
TIERS = {"gold": Band(0, 1000), "silver": Band(0, 100, ("lead",))}
QUOTAS = [Quota("read_file", 1), Quota("t", 50), Quota("shell", 5), Quota("shell", 500)]
COMMANDS = {"remove": re.compile(r"\brm\b"), "force": re.compile("--force", re.I), "pipe": re.compile(r"\|")}
BY_TOOL = {"query": re.compile("drop|delete", re.I), "shell": re.compile(r"\brm\b")}
GUARDED = {Env.PROD, Env.STAGING}
LIMITS = {Env.DEV: 1000, Env.PROD: 10}
OPEN, CLOSE = time(9), time(17, 30)
HOLIDAYS = frozenset({date(2026, 12, 25), date(2026, 1, 31)})
RANGE = (1, 40)
SPREAD = {"lo": 2, "hi": 9}


def _no_keys(req):
    return deny("a key") if req.args.get("path", "").endswith(".pem") else None


def _no_pipes(req):
    return deny("a pipe") if "|" in req.args["cmd"] else None


def _fine(req):
    return allow(f"{req.tool} is fine")


HANDLERS = {"read_file": _no_keys, "shell": _no_pipes, "query": lambda req: deny("no queries")}


def _clamp(x, lo=0, hi=100):
    return max(lo, min(x, hi))


def _has_any(text, *words):
    return any(word in text for word in words)


def _first(*values, default=None):
    for value in values:
        if value is not None:
            return value
    return default


def by_handler(req, ctx):
    handler = HANDLERS.get(req.tool)
    if handler is None:
        return None
    return handler(req)


def by_handler_or_default(req, ctx):
    return HANDLERS.get(req.tool, _fine)(req)


def by_handler_that_is_there(req, ctx):
    if req.tool in HANDLERS and (decision := HANDLERS[req.tool](req)):
        return decision
    return None


def by_handler_that_may_be_missing(req, ctx):
    return HANDLERS[req.args.get("kind", req.tool)](req) or HANDLERS.get(req.tool)(req)


def by_handler_of_each(req, ctx):
    for tool in (req.args.get("kind"), req.tool):
        if not (handler := HANDLERS.get(tool)):
            continue
        decision = handler(req)
        if decision is not None:
            return decision
    return None


def by_tier_object(req, ctx):
    tier = TIERS.get(req.args.get("customer", {}).get("tier"))
    if tier is None:
        return deny("no such tier")
    if not tier.covers(req.args["amount"]):
        return approve_required(tier.who or ("anybody",), reason=f"more than {tier.high}")
    return allow()


def by_tier_that_may_be_none(req, ctx):
    return deny(str(TIERS.get(req.args["customer"].get("tier")).high))


def by_pattern_of_tool(req, ctx):
    found = BY_TOOL[req.tool].search(req.args.get("sql") or req.args.get("cmd", ""))
    return deny(found.group()) if found else None


def by_band(req, ctx):
    for band in BANDS:
        if band.covers(req.args["amount"]):
            if not band.who:
                return allow()
            return approve_required(band.who, reason=f"{band.low} to {band.high}")
    return deny("in no band")


def by_first_quota(req, ctx):
    found = -1
    for number, quota in enumerate(QUOTAS, 1):
        if quota.tool == req.tool:
            found = quota.limit + number
            break
    else:
        return allow("no quota")
    return deny(f"limit {found}")


def by_quotas(req, ctx):
    for tool, limit in QUOTAS:
        if tool != req.tool:
            continue
        if req.args["n"] > limit:
            return deny(f"{tool} over {limit}")
    return None


def words_per_pattern(req, ctx):
    score = 0
    for pattern in COMMANDS.values():
        for word in req.args.get("cmd", "").split():
            if not pattern.search(word):
                continue
            score += 1
            break
        else:
            score += 10
    return deny(f"{score}")


def labels(req, ctx):
    found = [label for label, pattern in COMMANDS.items() if pattern.search(req.args.get("cmd", ""))]
    texts = {pattern.pattern for pattern in COMMANDS.values() if pattern.search(req.args.get("cmd", ""))}
    return deny(f"{', '.join(found)}: {sorted(texts)}") if found else None


def first_label(req, ctx):
    label = next((label for label, pattern in COMMANDS.items() if pattern.search(req.args["cmd"])), None)
    return deny(label) if label else None


def most_of_a_table(req, ctx):
    hits = sum(1 for pattern in COMMANDS.values() if pattern.search(req.args.get("cmd", "")))
    top = max((band.high for band in BANDS if band.low < req.args["amount"]), default=0)
    return deny(f"{hits}, up to {top}")


def guarded_environment(req, ctx):
    if ctx.environment in GUARDED and req.args.get("n", 0) > LIMITS.get(ctx.environment, 5):
        return deny("guarded")
    return deny("odd") if ctx.environment not in (Env.DEV, Env.PROD) else None


def by_environment(req, ctx):
    return deny(f"{LIMITS[ctx.environment]}") if ctx.environment in LIMITS else allow()


def office_hours(req, ctx):
    now = ctx.timestamp.time()
    if not OPEN <= now < CLOSE or dt.time(12) <= now < dt.time(12, 30):
        return deny(f"closed at {now.hour}:{now.minute:02}")
    return None


def holidays(req, ctx):
    today = ctx.timestamp.date()
    if today in HOLIDAYS or today in (date(2026, 2, 1), date(2026, 12, 26)) or today.weekday() > 5:
        return deny("a holiday")
    return allow() if ctx.timestamp.date() > date(2026, 6, 1) else None


def spread(req, ctx):
    return deny(f"{_clamp(req.args['n'], *RANGE)} {_clamp(req.args['m'], **SPREAD)}")


def any_number_of_words(req, ctx):
    return deny("bad word") if _has_any(req.args.get("cmd", ""), "rm", "dd", req.tool) else None


def first_of_several(req, ctx):
    return deny(f"{_first(req.args.get('n'), req.args.get('m'), default=5)} {_first()}")


def unpacked_generators(req, ctx):
    first, second = (part.strip() for part in req.args.get("url", "").partition("://")[::2])
    year, month, day = map(int, req.args.get("when", "2026-2-3").split("-"))
    return deny(f"{first} {second} {year}-{month:02}-{day:02}")


def generators_of_the_wrong_length(req, ctx):
    one, two = (req.args[name] for name in ("path", "body", "sql", "n"))
    return deny(f"{one} {two}")


def parallel_names(req, ctx):
    who, where, args = ctx.principal, ctx.environment, req.args
    get = req.args.get
    return deny(f"{who.id} in {where}") if "cmd" in args or get("n", 0) == 1 or get("path") == "" else None


def local_pattern(req, ctx):
    pattern = r"^select\b"
    template = "{} is no query"
    return None if re.match(pattern, req.args.get("sql", "").strip(), re.I) else deny(template.format(req.tool))


def split_path(req, ctx):
    head, tail = os.path.split(req.args["path"])
    return deny(f"{head} {tail}") if tail.startswith(".") or head == "/" else None


def older_formats(req, ctx):
    wide = "%6s|%-6s|%.2s|%5.1f|%-8.2f|" % (req.tool, req.tool, req.tool, req.args["amount"], req.args["amount"])
    return deny(wide + "%(n)8d|%(n)-8d|%(n)05d|%(n)+d|%(tool)8r" % {"tool": req.tool, "n": req.args["n"]})
