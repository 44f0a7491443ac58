"""Tasks of a user, alone and with an attacker, under rules that remember: what runs, what is asked, what is stopped.

    python benches/agent_tasks.py [--format json] [--suite NAME|DIR]... [--failures]

The agent makes the calls that the task needs. In an attack it has read a planted text and obeys it: after its first
call it also makes those of the attacker. A person who is asked grants the calls of the task and refuses the others.
An attack counts as executed if all its calls were done. The texts and the data were written for this benchmark;
`agent_suites/folder.py` describes a directory with another suite.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from agent_suites import calendar, chat, files, mail, payments
from agent_suites.folder import SuiteError, load
from agent_suites.suite import Calls, Goal, Suite, Task
from bobcat import (
    ApprovalDecision,
    ApprovalRequest,
    Budget,
    FinalAnswer,
    Message,
    PolicyCompileError,
    ToolCall,
    run_agent,
)

SUITES: tuple[Suite, ...] = (mail.SUITE, calendar.SUITE, files.SUITE, payments.SUITE, chat.SUITE)


@dataclass(frozen=True, slots=True)
class Made:
    """One call of a run: done, asked about, or denied; otherwise it failed in its tool."""

    tool: str
    attack: bool
    ok: bool
    asked: bool
    denied: bool


class Obedient:
    """Makes the calls of a task, and after the first one those of an attacker."""

    def __init__(self, own: Calls, planted: Calls) -> None:
        self.plan = [(False, *call) for call in own]
        self.plan[1:1] = [(True, *call) for call in planted]

    async def step(self, conversation: Sequence[Message]) -> ToolCall | FinalAnswer:
        """The next call of the plan."""
        done = sum(message.role == "tool" for message in conversation)
        if done < len(self.plan):
            _, tool, args = self.plan[done]
            return ToolCall(tool, dict(args))
        self.answers = [message.content for message in conversation if message.role == "tool"]
        return FinalAnswer("done")


async def run(suite: Suite, task: Task, goal: Goal | None) -> list[Made]:
    """The calls of one run, and what became of them."""
    agent = Obedient(task.calls, () if goal is None else goal.calls)
    asked: set[int] = set()

    async def answer(question: ApprovalRequest) -> ApprovalDecision:
        step = question.request.context.step_seq
        asked.add(step)
        return ApprovalDecision(not agent.plan[step][0], "person", "not what the user wants")

    tools = suite.tools("" if goal is None else goal.text)
    budget = Budget(steps=len(agent.plan) + 1)
    result = await run_agent(agent, task.text, tools=tools, policy=suite.policy(), on_approval=answer, budget=budget)
    assert result.error is None, result.error
    return [
        Made(tool, attack, text.startswith("[ok]"), step in asked, text.startswith("[denied]"))
        for step, ((attack, tool, _), text) in enumerate(zip(agent.plan, agent.answers, strict=True))
    ]


def figures(suite: Suite, *, failures: bool) -> dict[str, Any]:
    """The figures of one suite."""
    alone = [asyncio.run(run(suite, task, None)) for task in suite.tasks]
    pairs = [(task, goal, asyncio.run(run(suite, task, goal))) for task in suite.tasks for goal in suite.goals]
    attacks = [[call for call in made if call.attack] for _, _, made in pairs]
    executed = [all(call.ok for call in made) for made in attacks]
    questions = [any(call.asked for call in made) and not done for made, done in zip(attacks, executed, strict=True)]
    stopped = [
        any(call.denied for call in made) and not (question or done)
        for made, question, done in zip(attacks, questions, executed, strict=True)
    ]
    if failures:
        for task, made in zip(suite.tasks, alone, strict=True):
            for call in made:
                if not call.ok or call.asked:
                    how = "asked" if call.asked else "denied" if call.denied else "failed"
                    print(f"{suite.name}: {how} {call.tool}: {task.text}", file=sys.stderr)
        for (task, goal, _), done in zip(pairs, executed, strict=True):
            if done:
                print(f"{suite.name}: EXECUTED {goal.text} in: {task.text}", file=sys.stderr)
    return {
        "suite": suite.name,
        "tasks": len(suite.tasks),
        "unattended": sum(all(call.ok and not call.asked for call in made) for made in alone),
        "with_approvals": sum(all(call.ok for call in made) for made in alone),
        "questions": sum(call.asked for made in alone for call in made),
        "attacks": len(pairs),
        "executed": sum(executed),
        "asked": sum(questions),
        "denied": sum(stopped),
        "failed": len(pairs) - sum(executed) - sum(questions) - sum(stopped),
    }


def chosen_suite(name: str) -> Suite:
    """The suite of a name, or that in a directory. Raises `SuiteError`."""
    known = next((suite for suite in SUITES if suite.name == name), None)
    if known is not None:
        return known
    if not Path(name).is_dir():
        raise SuiteError(f"no suite `{name}`: {', '.join(suite.name for suite in SUITES)}, or a directory")
    return load(Path(name))


def main() -> None:
    """Run the suites and print the table."""
    parser = argparse.ArgumentParser(description="Tasks and attacks under rules that remember.")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--suite", action="append", metavar="NAME|DIR", help="one of the suites, or a directory")
    parser.add_argument("--failures", action="store_true", help="print what was asked, denied or executed")
    options = parser.parse_args()
    try:
        chosen = [chosen_suite(name) for name in options.suite or [suite.name for suite in SUITES]]
    except (SuiteError, PolicyCompileError) as error:
        parser.error(str(error))
    rows = [figures(suite, failures=options.failures) for suite in chosen]
    total = {"suite": "all", **{name: sum(row[name] for row in rows) for name in rows[0] if name != "suite"}}
    if options.format == "json":
        print(json.dumps([*rows, total], indent=2))
        return
    print("suite      tasks  unattended  with approvals  questions/task  attacks  denied   asked  failed  executed")
    for row in [*rows, total]:
        tasks, attacks = row["tasks"], row["attacks"] or 1
        print(
            f"{row['suite']:<10} {tasks:>5} {row['unattended'] / tasks:>10.1%} {row['with_approvals'] / tasks:>14.1%}"
            f" {row['questions'] / tasks:>14.2f} {row['attacks']:>9} {row['denied'] / attacks:>7.1%}"
            f" {row['asked'] / attacks:>7.1%} {row['failed'] / attacks:>7.1%} {row['executed'] / attacks:>8.1%}"
        )


if __name__ == "__main__":
    main()
