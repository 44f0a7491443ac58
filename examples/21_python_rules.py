"""A rule in Python that stays a callable, since it uses a library: its code is part of the policy's digest, and when it
fails, it denies. Most rules need no library and are compiled: see `26_compiled_python_rules.py`.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from bobcat import ActionRequest, Decision, ExecutionContext, compile_policy, deny, evaluate, request_from_json

POLICY = """
rules:
  - {id: https, match: {tool: fetch, args.url.matches: '^https://'}, decision: allow}
"""


def no_private_address(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Deny addresses inside of the house; None leaves the decision to the other rules."""
    if request.tool != "fetch":
        return None
    try:
        address = ipaddress.ip_address(urlsplit(request.args["url"]).hostname or "")
    except ValueError:
        return None  # a name
    return deny("no address inside of the house") if not address.is_global else None


def main() -> None:
    policy = compile_policy(
        POLICY,
        python_rules=[no_private_address],
        python_rule_priorities={"no_private_address": 10},
        host="allow",
    )
    for args in ({"url": "https://example.com"}, {"url": "https://10.0.0.7/admin"}, {"url": 7}, {}):
        decision = evaluate(policy, request_from_json({"tool": "fetch", "args": args}))
        print(f"{args}: {decision.verdict}  {', '.join(decision.matched_rules)}")
    print("the same policy without the rule has another digest:", policy.id != compile_policy(POLICY).id)


if __name__ == "__main__":
    main()
