"""The policies and tools of suites: loaded once for all suites that name them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bobcat.bundle import Policy, is_bundle, load_bundle
from bobcat.compiler import compile_policy, compile_with
from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic
from bobcat.errors import ArgumentError, BundleError, PolicyCompileError, UserCodeError
from bobcat.frontend.files import Inputs, PolicyFiles
from bobcat.frontend.suggest import closest
from bobcat.frontend.yaml.encoding import decode
from bobcat.ir.schema import Profile
from bobcat.model.decision import ActionRequest, Decision, ToolMetadata, Verdict
from bobcat.testing.suites.model import Step, Suite
from bobcat.tools.toolset import ToolSet

MODULE = ".py"


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a suite: a `ToolSet`, declarations by name, or neither."""

    tools: ToolSet | None = None
    declarations: Mapping[str, ToolMetadata] | None = None

    def declares(self, step: Step) -> bool:
        """Return true if the tools set the metadata of the step's tool."""
        return self.tools is not None or step.request.tool in (self.declarations or {})

    def bind(self, request: ActionRequest) -> ActionRequest | Decision:
        """Return the request as a run with these tools makes it, or the refusal of a call that they do not accept."""
        if self.tools is None:
            declared = (self.declarations or {}).get(request.tool)
            return request if declared is None else ActionRequest(request.tool, request.args, declared, request.context)
        from bobcat.runtime.mediator import bind_request

        try:
            return bind_request(request, self.tools)
        except ArgumentError as error:
            return Decision(Verdict.DENY, str(error), (f"<{error.code}>",))


@dataclass(frozen=True, slots=True)
class Subject:
    """A policy and the tools that a suite is about."""

    policy: Policy
    tools: Tools


class Unusable(Exception):
    """A policy or tools that cannot be used: the problem in a few words, and the findings about a policy."""

    def __init__(self, problem: str, findings: tuple[Diagnostic, ...] = (), help: str | None = None) -> None:
        super().__init__(problem)
        self.findings = findings
        self.help = help


class Subjects:
    """Loader of policies and tools. `texts` has the sources that findings refer to, by file."""

    def __init__(self, policy: str | None = None) -> None:
        self._instead = policy
        self._policies: dict[tuple[str, Profile | None], Policy | Unusable] = {}
        self._tools: dict[str, ToolSet | Unusable] = {}
        self.texts: dict[str, str] = {}

    def of(self, suite: Suite) -> Subject | list[Diagnostic]:
        """Return what a suite is about, or the errors."""
        found: list[Diagnostic] = []
        policy = self._policy(suite, found)
        tools = self._tools_of(suite, found)
        if policy is None or found:
            return found
        for case in suite.cases:
            for step in case.steps:
                if step.declares and tools.declares(step):
                    problem = f"the tools already set `declared` of `{step.request.tool}`"
                    found.append(diagnose("E1103", step.span, problem=problem, help="remove one of the two"))
        return found or Subject(policy, tools)

    def _policy(self, suite: Suite, found: list[Diagnostic]) -> Policy | None:
        path = policy_path(suite) if self._instead is None else self._instead
        key = (os.path.realpath(path), suite.profile)
        if key not in self._policies:
            self._policies[key] = self._loaded(path, suite.profile)
            known = self._policies[key]
            if isinstance(known, Unusable):
                found.extend(known.findings)
        policy = self._policies[key]
        if isinstance(policy, Unusable):
            found.append(diagnose("E1109", suite.policy_span, file=path, problem=str(policy), help=policy.help))
            return None
        return policy

    def _loaded(self, path: str, profile: Profile | None) -> Policy | Unusable:
        try:
            return load_policy(path, profile, self.texts)
        except Unusable as error:
            return error

    def _tools_of(self, suite: Suite, found: list[Diagnostic]) -> Tools:
        if suite.tools is None:
            return Tools(None, suite.declarations)
        directory = os.path.dirname(os.path.abspath(suite.file))
        place, colon, name = suite.tools.partition(":")
        is_file = place.endswith(MODULE)
        spec = f"{os.path.join(directory, place)}{colon}{name}" if is_file else suite.tools
        key = spec if is_file else f"{directory}\0{spec}"
        if key not in self._tools:
            self._tools[key] = _loaded_tools(spec, directory)
        tools = self._tools[key]
        if isinstance(tools, Unusable):
            found.append(diagnose("E1110", suite.tools_span, tools=suite.tools, problem=str(tools)))
            return Tools()
        return Tools(tools)


def policy_path(suite: Suite) -> str:
    """Return the path of a suite's policy, from the current directory as the suite's own path is."""
    return os.path.normpath(os.path.join(os.path.dirname(suite.file), suite.policy))


def tools_files(suite: Suite) -> tuple[str, ...]:
    """Return the file of a suite's tools, if the suite names one."""
    place = (suite.tools or "").partition(":")[0]
    return (os.path.join(os.path.dirname(suite.file), place),) if place.endswith(MODULE) else ()


def load_policy(path: str, profile: Profile | None, texts: dict[str, str]) -> Policy:
    """Load a policy source, a module of rules, or a bundle. Raises `Unusable`."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unusable(reason.lower(), help=_near(path)) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `bobcat check` reports them
            if is_bundle(data):
                return load_bundle(data, profile=profile)
            text, bad = decode(data, path)
            texts[path] = text
            if bad is not None:
                raise Unusable("it is not UTF-8 text", (bad,))
            return _compiled(text, path, profile or "strict")
    except PolicyCompileError as error:
        if not error.diagnostics:
            raise Unusable(str(error)) from error
        count = sum(item.severity == "error" for item in error.diagnostics)
        raise Unusable(f"it has {count} error{'s' * (count != 1)}", error.diagnostics) from error
    except BundleError as error:
        raise Unusable(f"{error} ({error.code})") from error
    except UserCodeError as error:
        raise Unusable(str(error)) from error


def _compiled(text: str, path: str, profile: Profile) -> Policy:
    if not path.endswith(MODULE):
        return compile_with(text, path, Inputs(PolicyFiles(path)), profile=profile)
    from bobcat.build.rule_module import is_policy, load_rules

    rules = load_rules(text, path).rules
    built = [rule for rule in rules if is_policy(rule)]
    source: Any = built[0] if len(built) == 1 else {}  # Any: a policy that its module built
    return compile_policy(source, path, profile=profile, python_rules=[rule for rule in rules if rule is not source])


def _near(path: str) -> str | None:
    directory = os.path.dirname(path) or "."
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    near = closest(os.path.basename(path), names)
    return f"did you mean `{os.path.join(os.path.dirname(path), near)}`?" if near else None


def _loaded_tools(spec: str, directory: str) -> ToolSet | Unusable:
    from bobcat.guard.tools import tool_set
    from bobcat.tools.named_object import load_tool_functions

    if directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        return tool_set(load_tool_functions(spec))
    except (UserCodeError, TypeError, ValueError) as error:
        return Unusable(str(error).removeprefix(f"the tools `{spec}` cannot be loaded: "))
