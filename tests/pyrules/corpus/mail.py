"""Rules about mail and messages: recipients, domains, sizes, words."""

import re

from bobcat import allow, approve_required, deny, transform
from bobcat.model.constructors import deny as refuse

OUR_DOMAINS = frozenset({"example.com", "example.org"})
PARTNERS = {"acme.test": ("legal",), "globex.test": ("legal", "sales")}
MAX_RECIPIENTS = 20
ADDRESS = re.compile(r"[^@\s]+@([a-z0-9.-]+)", re.IGNORECASE)
BAD_WORDS = [
    re.compile(r"\bpassword\b", re.IGNORECASE),
    re.compile(r"\bsecret\b", re.IGNORECASE),
    re.compile(r"BEGIN (RSA |EC )?PRIVATE KEY"),
]


def domain_of(address):
    return address.rpartition("@")[2].lower()


def only_our_domains(req, ctx):
    if req.tool != "send_email":
        return None
    strangers = sorted({domain_of(to) for to in req.args["to"]} - OUR_DOMAINS)
    if strangers:
        return deny("strange domains: " + ", ".join(strangers))
    return None


def all_internal(req, ctx):
    recipients = req.args.get("to") or []
    if isinstance(recipients, str):
        recipients = [recipients]
    if all(domain_of(r) in OUR_DOMAINS for r in recipients):
        return allow("everybody is one of us")


def too_many_recipients(request, context):
    count = len(request.args.get("to", [])) + len(request.args.get("cc", [])) + len(request.args.get("bcc", []))
    if count > MAX_RECIPIENTS:
        return approve_required(approvers=("comms",), timeout_seconds=600, reason=f"{count} recipients")
    return None


def partners_ask_first(req, ctx):
    for address in req.args.get("to", ()):
        approvers = PARTNERS.get(domain_of(address))
        if approvers is not None:
            return approve_required(approvers, reason=f"mail to a partner: {address}")
    return None


def valid_addresses(req, ctx):
    for index, address in enumerate(req.args["to"], 1):
        match = ADDRESS.fullmatch(address)
        if match is None:
            return refuse(f"recipient {index} is no address")
        if match.group(1).startswith("-"):
            return refuse(f"recipient {index} has a bad domain {match[1]!r}")
    return None


def no_secrets_in_mail(req, ctx):
    body = req.args.get("body", "")
    if any(word.search(body) for word in BAD_WORDS):
        return deny("the text may hold a secret")


def first_bad_word(req, ctx):
    subject = req.args.get("subject", "")
    for word in BAD_WORDS:
        found = word.search(subject)
        if found:
            return deny(f"the subject says {found.group().lower()}")
    return None


def strip_bcc(req, ctx):
    if req.tool == "send_email" and "bcc" in req.args:
        return transform({key: value for key, value in req.args.items() if key != "bcc"}, "no blind copies")


def sign_messages(req, ctx):
    if req.tool != "send_sms":
        return None
    args = dict(req.args)
    args["text"] = f"{args['text'][:120]} ({ctx.principal.name or ctx.principal.id})"
    args.pop("priority", None)
    return transform(args, reason="signed")


def same_sender(req, ctx):
    return (
        deny(f"{ctx.principal.id} cannot write as {req.args['from']}") if req.args["from"] != ctx.principal.id else None
    )


def quiet_channels(req, ctx):
    channel = req.args.get("channel", "").lstrip("#").casefold()
    match channel:
        case "general" | "announcements":
            return approve_required(("comms",), reason=f"#{channel} is read by everybody")
        case "random":
            return allow()
        case _ if channel.startswith("ext-"):
            return deny("no bots outside")
    return None


def attachments(req, ctx):
    total = sum(item["size"] for item in req.args.get("attachments", []))
    largest = max((item["size"] for item in req.args.get("attachments", [])), default=0)
    if total > 10 * 1024**2 or largest > 5_000_000:
        return deny(f"{total / 1_000_000:.1f} MB of attachments, the largest {largest:,} bytes")
    return None
