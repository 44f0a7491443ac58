"""A policy that a program makes from a table: built, not printed as YAML. Mistakes point at the line of Python."""

from __future__ import annotations

from dataclasses import dataclass

from bobcat import PolicyCompileError, evaluate, explain, request_from_json
from bobcat.build import Policy, any_of, args, context, tool, when


@dataclass(frozen=True)
class Tenant:
    """The contract of a customer."""

    name: str
    refund_limit: int
    hosts: tuple[str, ...]


TENANTS = (Tenant("acme", 50, ("api.acme.example",)), Tenant("globex", 500, ("globex.example", "cdn.globex.example")))


def rules_of(tenant: Tenant) -> Policy:
    """The rules of one tenant."""
    ours = context.extra.tenant == tenant.name
    return Policy(
        when(ours, tool == "refund", args.amount > tenant.refund_limit, args.amount <= 10_000).approve_required(
            f"more than {tenant.refund_limit}", approvers=["lead"], timeout_seconds=600, id=f"{tenant.name}-large"
        ),
        when(ours, tool == "refund", args.amount.between(1, tenant.refund_limit), args.reason.length() > 10).allow(
            id=f"{tenant.name}-explained"
        ),
        when(ours, tool == "fetch", args.host.in_(tenant.hosts)).allow(id=f"{tenant.name}-hosts"),
    )


COMMON = Policy(
    when(any_of(args.path.contains(".."), args.paths.any().contains(".."))).deny(
        "no way up", id="no-way-up", priority=10
    ),
    when(tool == "edit", args.owner == context.principal.id).allow(id="own-documents"),
)


def main() -> None:
    policy = sum((rules_of(tenant) for tenant in TENANTS), Policy()) + COMMON
    print(policy)
    bundle = policy.compile()
    acme = {"extra": {"tenant": "acme"}, "principal": {"kind": "user", "id": "ann"}}
    for name, arguments in (
        ("refund", {"amount": 80, "reason": "arrived broken"}),
        ("refund", {"amount": 20, "reason": "arrived broken"}),
        ("fetch", {"host": "globex.example"}),
        ("edit", {"owner": "ann"}),
        ("edit", {"owner": "bob"}),
        ("read", {"paths": ["a.txt", "../b.txt"]}),
    ):
        decision = evaluate(bundle, request_from_json({"tool": name, "args": arguments, "context": acme}))
        print(f"{name} {arguments}: {decision.verdict}  {', '.join(decision.matched_rules)}")
    request = request_from_json({"tool": "edit", "args": {"owner": "bob"}, "context": acme})
    line = next(line for line in explain(bundle, request).to_text().splitlines() if "args.owner" in line)
    print(line.partition("]")[0].strip() + "]")
    wrong = Policy(when(context.enviroment == "prod").deny("closed"))
    try:
        wrong.compile()
    except PolicyCompileError as error:
        finding = error.diagnostics[0]
        print(f"{finding.message} ({finding.help}), in line {finding.span.line if finding.span else 0}")


if __name__ == "__main__":
    main()
