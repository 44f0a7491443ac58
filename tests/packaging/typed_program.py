"""A program as its users write it, checked by `make types`: what the documentation shows must be typed, too.

Nothing here is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, assert_type

from bobcat import (
    ActionRequest,
    ActionResult,
    Agent,
    Allowlist,
    ApprovalDecision,
    ApprovalHandler,
    ApprovalRequest,
    Approvals,
    AuditEvent,
    Budget,
    BundleError,
    CancelToken,
    ConfirmationGate,
    Decision,
    ExecutionContext,
    Executor,
    FinalAnswer,
    GraphNode,
    Happened,
    Message,
    NodeOutcome,
    NotHappened,
    PolicyBundle,
    PolicyCompileError,
    Principal,
    Reconciled,
    RunResult,
    RunStore,
    SQLiteStore,
    StepRecord,
    ToolCall,
    ToolDef,
    ToolSet,
    Unknown,
    Verdict,
    allow,
    approve_required,
    callback_sink,
    compile_graph,
    compile_policy,
    deny,
    durable_approvals,
    evaluate,
    evaluate_many,
    explain,
    inline_executor,
    jsonl_sink,
    load_bundle,
    load_policy_file,
    multi_sink,
    request_from_json,
    route_executor,
    rule,
    run_agent,
    run_graph,
    shadow,
    stdout_sink,
    subprocess_executor,
    tool,
)
from bobcat.build import Policy, always, args, context, when
from bobcat.build import tool as tool_name
from bobcat.stores.urls import open_store
from bobcat.workers import Job, Jobs, Workers


@tool(effect="keyed", scope=["payments"], reversible=False, cost="high")
async def pay(amount: int, idempotency_key: str) -> str:
    """Pay."""
    return f"paid {amount}"


@pay.reconcile
async def did_pay(key: str, given: Mapping[str, Any]) -> Happened | NotHappened | Unknown:
    """Ask the bank, in the older words."""
    return Unknown("the bank is closed")


@pay.reconcile
async def did_we_pay(key: str, given: Mapping[str, Any]) -> Reconciled:
    """Ask the bank."""
    return Reconciled.unknown("the bank is closed") if given else Reconciled.happened(key)


@pay.shadow
async def preview(amount: int) -> str:
    """The payment."""
    return f"would pay {amount}"


@tool
async def look(name: str) -> dict[str, int]:
    """Look."""
    return {name: 1}


@shadow(look)
async def look_shadow(name: str) -> str:
    """The page."""
    return name


async def called_directly() -> None:
    """A tool keeps the signature of its function."""
    assert_type(await look("a"), dict[str, int])
    assert_type(await pay(3, idempotency_key="k"), str)
    assert_type(look.__name__, str)
    assert_type(await preview(3), str)
    await pay("3", idempotency_key="k")  # type: ignore[arg-type]  # as it should be


class Scripted:
    """Follows a script."""

    def __init__(self, *replies: ToolCall | FinalAnswer) -> None:
        self.replies = replies

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        """The next line of the script."""
        return self.replies[sum(message.role == "assistant" for message in conversation)]


class Several:
    """Proposes several calls at once."""

    async def step(self, conversation: Sequence[Message]) -> list[ToolCall] | FinalAnswer:
        """Two calls."""
        return [ToolCall("look", {"name": "x"}), ToolCall("look", {"name": "y"})]


@rule(priority=5)
def tiers(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Large payments are asked for."""
    if request.tool != "pay":
        return None
    return approve_required(("ann",), reason="much") if request.args["amount"] > 100 else allow()


@rule
def never(request: ActionRequest, context: ExecutionContext) -> Decision | None:
    """Never."""
    return deny("never") if request.tool == "never" else None


def built() -> PolicyBundle:
    """A policy of expressions."""
    return Policy(
        [when(tool_name == name, args.amount > 5).approve_required("much", id=name) for name in ("a", "b")],
        when(tool_name.in_("a", "b"), args.account == context.principal.id).allow(id="own"),
        when(tool_name == "query").transform(args.query.append(" LIMIT 100"), id="limit"),
        when((args.x == 1) & ~(args.y < 2) | args.z.exists()).deny("no"),
        always.deny("end"),
        on_no_match="deny",
    ).compile()


async def ask_ann(request: ApprovalRequest) -> ApprovalDecision:
    """Ann says yes."""
    return ApprovalDecision(granted=True, approver="ann", args={**request.request.args})


def show(event: AuditEvent) -> None:
    """A plain function is a sink."""
    print(event.kind, event.body["verdict"])


async def send(event: AuditEvent) -> None:
    """And so is an async one."""


class Required:
    """And an object."""

    required = True

    async def __call__(self, event: AuditEvent) -> None:
        """Take one event."""


async def dry(request: ActionRequest, tool: ToolDef) -> ActionResult:
    """An executor."""
    return ActionResult(True, tool.name)


class MyStore:
    """A store of two methods."""

    def __init__(self) -> None:
        self.rows: list[StepRecord] = []

    async def append(self, record: StepRecord) -> None:
        """Keep it."""
        self.rows.append(record)

    async def load(self, run_id: str) -> list[StepRecord]:
        """Give it back."""
        return [row for row in self.rows if row.run_id == run_id]


def route(outcome: NodeOutcome) -> str | None:
    """A router."""
    return "b" if outcome.result.final_answer else None


workers = Workers(max_attempts=5, tenant_limit=4)


@workers.run("refund")
async def refund_order(job: Job) -> dict[str, Any]:
    """Build a run."""
    return {"agent": Scripted(), "task": str(job.payload["order"]), "tools": ToolSet(), "policy": built()}


@workers.run("nightly", cron="0 3 * * *", timezone="Europe/Berlin")
def nightly(job: Job) -> dict[str, Any]:
    """Build another run."""
    return {}


async def runs(policy: PolicyBundle) -> None:
    """Every argument of a run."""
    agent: Agent = Scripted(ToolCall("pay", {"amount": 3}), FinalAnswer("done"))
    store: RunStore = MyStore()
    handler: ApprovalHandler = ask_ann
    executor: Executor = dry
    result = await run_agent(
        agent, "task", tools=ToolSet.from_functions(pay, look), policy=policy, on_approval=handler,
        sinks=[stdout_sink(), callback_sink(show), send, Required(), show, multi_sink(show, send)],
        budget=Budget(steps=None, duration_seconds=1.5), principal=Principal("user", "ann"), store=store, run_id="x",
        executor=route_executor({None: inline_executor(), "process": subprocess_executor(), "dry": executor}),
        cancel=CancelToken(),
    )  # fmt: skip
    assert_type(result, RunResult)
    for approvals in (ConfirmationGate(), Allowlist(["x"])):
        await run_agent(Several(), "task", tools=ToolSet(), policy=policy, on_approval=approvals)
    graph = await run_graph({"a": GraphNode(agent, ToolSet(), policy)}, "task", router=route, start="a", sinks=[show])
    graph = await run_graph({"a": GraphNode(agent, ToolSet(), policy)}, "task", router=compile_graph("..."))
    assert_type(graph.final, RunResult | None)


async def stored(policy: PolicyBundle) -> None:
    """Approvals and queued runs."""
    async with aclosing(SQLiteStore("runs.db")) as store:
        handler = durable_approvals(store)
        await run_agent(Several(), "t", tools=ToolSet(), policy=policy, store=store, run_id="r", on_approval=handler)
        for asked in await Approvals(store).list():
            answered = await Approvals(store).grant(asked.id, approver="alice", reason="known")
            assert_type(answered.changed, bool)
        job = await Jobs(store).enqueue("refund", {"order": "o"}, run_id="o", priority=5, tenant="acme")
        assert_type(job, Job)
    async with aclosing(open_store("sqlite:///runs.db")) as store:
        print(await store.runs())


def decisions() -> None:
    """Policies and what they decide."""
    policy = compile_policy("rules: []", python_rules=[tiers, never], python_rule_priorities={"tiers": 3})
    policy = compile_policy({"rules": []}, python_rules=[Policy(always.allow(id="x"))])
    policy = load_policy_file(Path("policy.yaml"), profile="lynx")
    policy = load_bundle(Path("policy.bobcat"))
    request = request_from_json({"tool": "pay", "args": {"amount": 1}})
    decision = evaluate(policy, request)
    assert_type(decision, Decision)
    assert_type(evaluate_many(policy, [request]), list[Decision])
    print(decision.verdict == "deny", policy.evaluate(request).matched_rules)
    match decision.verdict:
        case Verdict.ALLOW | Verdict.TRANSFORM:
            print(decision.transform_args)
        case Verdict.DENY | Verdict.DRY_RUN | Verdict.APPROVE_REQUIRED:
            print(decision.approvers, decision.timeout_seconds)
    for evaluated in explain(policy, request).rules:
        print(evaluated.id, evaluated.outcome)
    try:
        policy.save("policy.bobcat")
    except PolicyCompileError as error:
        for finding in error.diagnostics:
            print(finding.code, finding.help, finding.span.line if finding.span else "")
    except BundleError as error:
        print(error.code)
    with open("audit.jsonl", "w") as handle:
        print(jsonl_sink(handle, required=True))
