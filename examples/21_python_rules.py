"""A rule in Python that stays a callable, since it uses a library: its code is part of the policy's digest, and when it
fails, it denies. Most rules need no library and are compiled: see `26_compiled_python_rules.py`.
"""

from __future__ import annotations

import ipaddress

from bobcat import ActionRequest, Decision, ExecutionContext, Policy, Request, deny
from bobcat.facets import url

POLICY = """
rules:
  - {id: https, match: {tool: fetch, args.url.matches: '^https://[a-z0-9.-]+(/[a-z]*)?$'}, decision: allow}
"""
HOSTS = ("example.com", "www.example.com")


def no_private_address(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Deny hosts that are neither known by name nor a public address; None leaves the decision to the other rules."""
    if request.tool != "fetch":
        return None
    host = url(request.args["url"]).host
    if host in HOSTS:
        return None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # another name; numbers that only look like an address are undecidable, which denies
        return deny(f"{host} is not a known host")
    return None if address.is_global else deny("the address is not public")


def main() -> None:
    policy = Policy.compile(
        POLICY,
        python_rules=[no_private_address],
        python_rule_priorities={"no_private_address": 10},
        uncompiled="callable",
    )
    for args in ({"url": "https://example.com"}, {"url": "https://10.0.0.7/admin"}, {"url": 7}, {}):
        decision = policy.evaluate(Request("fetch", args))
        print(f"{args}: {decision.verdict}  {', '.join(decision.matched_rules)}")
    print("the same policy without the rule has another digest:", policy.id != Policy.compile(POLICY).id)


if __name__ == "__main__":
    main()
