"""A Django service in one file: the agent may do what the user who asks may do, because the policy knows who that is.

Serve it with an ASGI server, as `17_django_service:application`; run as a script, it talks to itself without a network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.test import AsyncClient
from django.urls import path

from bobcat import FinalAnswer, Message, Policy, Principal, ToolCall, ToolSet, run_agent, tool

POLICY = Policy.compile("""
predicates:
  staff: {context.principal.id.in: [ann, bob]}
rules:
  - {id: read, match: {tool: find_order, args.order.matches: '^[0-9]{1,9}$'}, decision: allow}
  - id: staff-cancels
    match: {tool: cancel_order, all_of: [staff], args.order.matches: '^[0-9]{1,9}$'}
    decision: allow
  - {id: customers-ask, match: {tool: cancel_order}, decision: deny, reason: only staff cancels orders}
""")

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["testserver"], SECRET_KEY="for this example")
django.setup()


@tool()
async def find_order(order: str) -> str:
    """Find an order."""
    return f"order {order}: one anvil"


@tool(reversible=False)
async def cancel_order(order: str) -> str:
    """Cancel an order."""
    return f"order {order} is cancelled"


class Agent:
    """Finds the order and cancels it."""

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        answers = [message.content for message in conversation if message.role == "tool"]
        if len(answers) == 2:
            return FinalAnswer(answers[-1])
        return ToolCall(["find_order", "cancel_order"][len(answers)], {"order": "17"})


async def ask(request: HttpRequest) -> JsonResponse:
    """Have the agent do something for the user. A real service takes the user from its session."""
    user = request.headers.get("X-User", "anonymous")
    result = await run_agent(
        Agent(),
        request.GET.get("task", ""),
        tools=ToolSet.from_functions(find_order, cancel_order),
        policy=POLICY,
        principal=Principal("user", user),
    )
    return JsonResponse({"answer": result.final_answer, "error": result.error})


urlpatterns = [path("ask", ask)]
application = get_asgi_application()


async def main() -> None:
    client = AsyncClient()
    for user in ("ann", "carol"):
        response = await client.get("/ask", {"task": "cancel order 17"}, headers={"X-User": user})
        print(response.status_code, response.json())


if __name__ == "__main__":
    asyncio.run(main())
