"""Values of policy tests: suites, cases, steps and expectations, as a file has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from bobcat.diagnostics.model import Span
from bobcat.ir.schema import Profile
from bobcat.model.decision import ActionRequest, ToolMetadata

Json = Any  # Any: JSON

SUFFIXES = (".policytest.yaml", ".policytest.yml")
"""Endings of the names of suites."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected parts of a decision; None for a part that is not compared.

    `rule` is the deciding rule, `reason_matches` a pattern, `args` are the effective arguments, `error` is the code of
    an error; `no_error`: no rule had an error. `approvers` are those who may permit the call, in any order.
    """

    verdict: str | None = None
    rule: str | None = None
    reason_matches: str | None = None
    args: Mapping[str, Json] | None = None
    error: str | None = None
    no_error: bool = False
    approvers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a case. A case with a `request` has one step.

    `declares`: the file has the metadata of the tool. `after` is the time since the step before, unless the request has
    its own time (`timed`). `outcome` is that of the tool, if the call runs, and `value` its result.
    """

    request: ActionRequest
    expect: Expectation | None
    span: Span
    declares: bool = False
    in_sequence: bool = False
    timed: bool = False
    numbered: bool = False
    after: timedelta = timedelta()
    same_reply: bool = False
    approved: bool = False
    outcome: Literal["result", "failed"] | None = None
    value: Json = None


@dataclass(frozen=True, slots=True)
class Case:
    """One test. A row of a table is a case; `written` is the index of the entry in the file's list."""

    name: str
    steps: tuple[Step, ...]
    tags: tuple[str, ...]
    span: Span
    written: int
    is_sequence: bool = False
    row: int | None = None

    @property
    def task(self) -> str | None:
        """The user's task, which all steps share."""
        return self.steps[0].request.context.task

    @property
    def has_expectation(self) -> bool:
        """Return true if a step has an expectation."""
        return any(step.expect is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class Suite:
    """One file of tests. `tools` is `module:NAME` or a file; `declarations` are those of the file itself."""

    file: str
    text: str
    policy: str
    policy_span: Span
    cases: tuple[Case, ...]
    profile: Profile | None = None
    tools: str | None = None
    tools_span: Span | None = None
    declarations: Mapping[str, ToolMetadata] = field(default_factory=dict)
