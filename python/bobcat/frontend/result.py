"""Result of a front end: the policy, its source map, and all findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import msgspec

from bobcat.bundle.source_map import RuleSource, SourceMap
from bobcat.diagnostics.model import Diagnostic
from bobcat.frontend.observation import Finding, errors
from bobcat.ir.construct import evaluation_key
from bobcat.ir.memory import used
from bobcat.ir.schema import AnyRule, Definition, IrPolicy


@dataclass(frozen=True, slots=True)
class LoweringResult:
    """Result of one front end. `policy` and `source_map` are None exactly when a finding is an error.

    `data` returns the policy as plain Python data, for lynx-agent's 16-hex id; it is built on call, or raises
    ValueError if that id is not defined. `source` is the text that the findings refer to, None for a mapping.
    `definitions` are all sources of the policy by their names in the IR, also those that no rule reads yet.
    `texts` are those of included files, by name.
    """

    policy: IrPolicy | None
    source_map: SourceMap | None
    findings: tuple[Finding, ...]
    # Any: plain YAML data.
    data: Callable[[], Any] | None = None
    source: str | None = None
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> Mapping[str, Definition] | None:
        """Return the sources that Python rules can name; None if the policy has errors."""
        return None if self.policy is None else self.definitions

    def with_rules(
        self,
        added: Sequence[tuple[AnyRule, RuleSource, str]],
        memory: Mapping[str, Definition] = MappingProxyType({}),
    ) -> LoweringResult:
        """Add rules, each with its source and the file of that, after the policy's rules of equal rank; `memory` has
        the definitions that they may read.
        """
        if self.policy is None or self.source_map is None or not added:
            return self
        files = [*self.source_map.files]
        pairs = [*zip(self.policy.rules, self.source_map.rules, strict=True)]
        for rule, place, file in added:
            if file and file not in files:
                files.append(file)
            pairs.append((rule, msgspec.structs.replace(place, file=files.index(file)) if file else place))
        pairs.sort(key=lambda pair: evaluation_key(pair[0]))
        rules = tuple(rule for rule, _ in pairs)
        known = {} if isinstance(self.policy.memory, msgspec.UnsetType) else self.policy.memory
        read = used(rules, {**known, **memory}) or msgspec.UNSET
        return replace(
            self,
            policy=msgspec.structs.replace(self.policy, rules=rules, memory=read),
            source_map=msgspec.structs.replace(
                self.source_map, files=tuple(files), rules=tuple(place for _, place in pairs)
            ),
        )

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that stop the compilation."""
        return tuple(errors(self.findings))
