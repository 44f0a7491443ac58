"""Catalogue of diagnostic codes: the number, name, message and help of every finding about a source.

`diagnose` creates a `Diagnostic` from a code; no other code should. A code keeps its meaning for ever and is never
reused. `docs/reference/diagnostics.md` (E) and `docs/reference/lints.md` (W, N) have one section per code,
`tests/snapshots` one rendered example each; a test enforces both.

    E01  the source as YAML            E05  predicates             W01  lints of the strict profile
    E02  the document and its rules    E06  transforms             W02  permissive `lynx` behaviour
    E03  paths, keys and connectives   E07  patterns               N01  notes of `check`
    E04  operands                      E08  host rules             E09  errors of the `lynx` profile
    E10  what a run remembers                                      W022 displayed texts
    E11  suites of policy tests
    E12  several files, variables
    E13  invariants of policies
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from bobcat.diagnostics.model import Diagnostic, Related, Severity, Span


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding. `message` and `help` are `str.format` templates over the same parameters."""

    id: str
    name: str
    message: str
    help: str | None = None

    @property
    def severity(self) -> Severity:
        """Return the severity: codes with `W` are warnings, with `N` notes, all others errors."""
        return {"W": Severity.WARNING, "N": Severity.NOTE}.get(self.id[0], Severity.ERROR)


# Every row: the code, the name, the message, and the help line if there is one.
# fmt: off
_ROWS: tuple[tuple[str, ...], ...] = (
    # The source as YAML.
    ("E0101", "yaml-syntax", "this is not valid YAML: {problem}"),
    ("E0102", "bad-unicode", "the text holds {what}", "save the file as UTF-8"),
    ("E0103", "bad-character", "the character {what} is not allowed in a policy",
     "write it as an escape in a double-quoted string, or leave it out"),
    ("E0104", "several-documents", "a policy is one YAML document, and here a second one begins",
     "put every document in its own file"),
    ("E0105", "tag", "the tag `{tag}` is not part of the policy language",
     "remove the tag; quote the value to make it a string"),
    ("E0106", "merge-key", "merge keys are not part of the policy language",
     "write the keys out, or give the match a name under `predicates`"),
    ("E0107", "too-large", "the source has {size} characters; the limit is {limit}", "split the policy"),
    ("E0108", "too-deep", "the source is nested more than {limit} levels deep"),
    ("E0109", "too-many-nodes", "the source has more than {limit} values once its aliases are expanded",
     "split the policy, and use `predicates` instead of anchors and aliases"),
    ("E0110", "recursive-alias", "this value contains itself", "an alias must not refer to a value that contains it"),
    ("E0111", "duplicate-key", "the key `{key}` is written twice", "keep one of the two"),
    ("E0112", "key-not-a-string", "a key must be a string, and `{key}` is {kind}", 'quote it: `"{key}"`'),
    ("E0113", "not-plain-data", "a value of type `{kind}` cannot be part of a policy",
     "use null, bools, numbers, strings, lists and mappings with string keys"),
    ("E0114", "too-many-findings", "more than {limit} errors; the others are not shown", "start with the first ones"),
    # The document and its rules.
    ("E0201", "not-a-policy", "a policy is a mapping, and this is {kind}", "begin with `rules:` and a list of rules"),
    ("E0202", "unknown-key", "{where} has no key `{key}`", "its keys are {known}"),
    ("E0203", "missing-key", "{where} has no `{key}`"),
    ("E0204", "wrong-type", "`{key}` must be {expected}, not {kind}"),
    ("E0205", "unknown-version", "version {version} of the policy language does not exist",
     "write `version: 1`, or remove it"),
    ("E0206", "unknown-value", "`{value}` is not a value of `{key}`", "write one of {known}"),
    ("E0207", "list-expected", "`{key}` must be a list, and this is {kind}", "write `{key}: [{value}]`"),
    ("E0208", "misplaced-key", "`{key}` does not apply to a rule with `decision: {verdict}`",
     "it belongs to `decision: {owner}`"),
    ("E0209", "out-of-range", "`{key}` must be {expected}, and `{value}` is not"),
    ("E0210", "duplicate-rule-id", "two rules have the id `{id}`", "give each rule a unique id"),
    ("E0211", "bad-rule-id", "`{id}` cannot be a rule id: {problem}"),
    ("E0212", "too-many-rules", "the policy has {count} rules; the limit is {limit}", "split the policy"),
    ("E0213", "too-few-approvers", "the rule needs {needed} approvals and names {known} who can give one",
     "name more approvers, or remove them to let anyone approve"),
    ("E0215", "unknown-resource", "`{name}` is not a resource"),
    ("E0216", "bad-resource", "`{value}` cannot be the {key} of a resource: {problem}"),
    ("E0217", "bad-resource-pattern", "`{pattern}` is not a pattern of {what}: {problem}"),
    ("E0218", "resource-kind", "`{name}` is a resource of another kind", "name one of the kind `{kind}`"),
    ("E0219", "bad-obligation", "`{name}` cannot stand in `obligations`: {problem}"),
    # Paths, keys and connectives.
    ("E0301", "unknown-path", "unknown path root `{head}`",
     "a path begins with `tool`, `args`, `declared` or `context`"),
    ("E0302", "unknown-field", "`{base}` has no field `{field}`", "its fields are {known}"),
    ("E0303", "unknown-operator", "`{operator}` is not an operator",
     "if `{operator}` is the name of an argument, write `{quoted}`"),
    ("E0304", "unknown-connective", "`{key}` is not a connective", "the connectives are `all_of`, `any_of` and `not`"),
    ("E0305", "bad-key", "`{key}` is not a path: {problem}"),
    ("E0306", "not-a-match", "{where} must be a mapping or the name of a predicate, not {kind}"),
    ("E0307", "nested-form", "`{key}` is compared with a whole mapping here, which is rarely intended",
     "write `{flat}`; to compare the whole, write `{key}.eq`"),
    ("E0308", "list-equality", "`{key}` is compared with a whole list here, which is rarely intended",
     "write `{key}.{instead}` for one of these values; to compare the whole, write `{key}.eq`"),
    ("E0309", "not-a-value", "`{base}` is a group of fields, not a value", "name one of its fields: {known}"),
    # Operands.
    ("E0401", "operand-type", "`{op}` takes {expected}, not {kind}"),
    ("E0402", "operand-count", "`{op}` takes a list of two bounds, and this one has {count}",
     "write `[lowest, highest]`"),
    ("E0403", "empty-range", "no value is between {low} and {high}", "write the lower bound first: `[{high}, {low}]`"),
    ("E0404", "not-finite", "`{value}` is not a number that can be compared with", "use a finite number"),
    ("E0405", "path-type", "`{path}` is {has}, and can never be {kind}"),
    ("E0406", "path-operator", "`{op}` does not apply to `{path}`, which is {has}", "the operators for it: {known}"),
    ("E0407", "bad-timestamp", "`{value}` is not a point in time: {problem}",
     "write RFC 3339 with an offset: `2026-01-31T12:00:00Z`"),
    ("E0408", "mixed-bounds", "the bounds of `{op}` are {low} and {high}", "give both the same type"),
    ("E0409", "empty-list", "`{op}` needs at least one value", "add a value, or remove the line"),
    ("E0410", "constant-too-deep", "the value is nested more than {limit} levels deep"),
    ("E0411", "number-too-large", "the number has more than {limit} bits"),
    ("E0412", "string-too-long", "the string has {size} bytes; the limit is {limit}"),
    ("E0413", "bad-ref", "`{path}` cannot be compared with here: {problem}"),
    ("E0414", "ref-operator", "`{op}` takes a constant, not the value at another path",
     "the operators that do: {known}"),
    ("E0415", "bad-facet-operand", "`{value}` cannot be equal to or hold {kind}: {problem}"),
    # Predicates and connectives.
    ("E0501", "unknown-predicate", "unknown predicate `{name}`"),
    ("E0502", "predicate-cycle", "the predicate `{name}` refers to itself: {chain}", "break the cycle"),
    ("E0503", "bad-predicate-name", "`{name}` cannot be the name of a predicate: {problem}"),
    ("E0504", "match-too-deep", "the match is more than {limit} levels deep after predicate expansion"),
    ("E0505", "match-too-large", "the match has more than {limit} clauses and values after predicate expansion"),
    # Transforms.
    ("E0601", "transform-operation",
     "a transform has exactly one of `set`, `append` and `delete`, and this one has {count}"),
    ("E0602", "transform-path", "`{path}` is not a place in the arguments: {problem}", "write `$.args.NAME`"),
    ("E0603", "transform-whole", "`{op}` needs an argument to change", "add `jsonpath: $.args.NAME`"),
    ("E0604", "transform-value", "`{op}` takes {expected}, not {kind}"),
    # Patterns.
    ("E0701", "pattern", "invalid pattern: {problem}"),
    ("E0702", "patterns-too-large", "the patterns have more than {limit} bytes together",
     "use `in` for lists of words, or split the policy"),
    ("E0703", "glob", "invalid glob: {problem}"),
    ("E0704", "patterns-too-costly",
     "with repetitions expanded this pattern has {cost} parts, and all patterns together have more than {limit}",
     "repeat less (`{{1,50}}` instead of `{{1,500}}`), or split the policy"),
    # Host rules.
    ("E0801", "host-rule-type", "a Python rule is a callable, and this is {kind}",
     "pass functions `(request, context) -> Decision | None`"),
    ("E0802", "host-rule-async", "the Python rule `{name}` is asynchronous, and rules are synchronous",
     "make it a plain function"),
    ("E0803", "host-rule-name", "the Python rule `{name}` has the name of another rule",
     "give every rule a unique name; write a lambda as a `def`"),
    ("E0804", "host-rule-nameless", "a Python rule of the `lynx` profile needs a name, and this is {kind}"),
    ("E0805", "host-rule-priority-name", "a priority names the unknown Python rule `{name}`",
     "use the name of a rule in `python_rules`"),
    ("E0806", "host-rule-priorities", "the priorities do not fit the {count} Python rules",
     "give `(name, priority)` pairs, a mapping, or one integer for each rule"),
    ("E0807", "rule-not-lowered", "the Python rule `{name}` cannot be compiled: it {problem}",
     '{instead}; `uncompiled="callable"` keeps the rule as a callable'),
    ("E0808", "rule-impure", "the Python rule `{name}` {problem}",
     '{instead}; `uncompiled="callable"` keeps the rule as a callable'),
    ("E0820", "built-rule-id", "a rule built in Python without a `Policy` has no id",
     "write `id=...`, or put it in a `Policy`, which names it by its position"),
    ("E0821", "built-defaults", "a policy built in Python sets `{key}`, but the defaults of the policy beside it apply",
     "remove the defaults, or compile the built policy itself"),
    ("E0822", "built-profile", "a rule built in Python belongs to the strict profile",
     'compile with `profile="strict"`, or write the rule in YAML'),
    # What a run remembers.
    ("E1001", "unknown-source", "`{name}` is not a source"),
    ("E1002", "bad-source-name", "`{name}` cannot be the name of a source: {problem}", "choose another name"),
    ("E1003", "bad-source", "the source `{name}` {problem}"),
    ("E1004", "source-cycle", "the source `{name}` is asked with itself: {chain}", "break the cycle"),
    ("E1005", "bad-run-key", "`{key}` does not read the run: {problem}"),
    ("E1006", "bad-duration", "`{value}` is not a duration: {problem}",
     "write `90s`, `15m`, `1h`, `2d` or a number of seconds"),
    ("E1007", "bad-formula", "{where} {problem}"),
    ("E1008", "memory-in-definition", "`{what}` reads the run, and {where} cannot",
     "write it in a rule, beside the condition that needs the definition"),
    ("E1009", "head-outside", "`{key}` begins with `{head}`, which a rule does not have"),
    ("E1010", "too-many-definitions", "the rules read {count} definitions; the limit is {limit}",
     "split the policy"),
    # Policies of several files, and variables.
    ("E1201", "include-without-file", "`include` needs the file of the policy, from whose directory its paths begin",
     "compile the file itself: `Policy.compile(Path(...))`"),
    ("E1202", "unusable-include", "`{file}` cannot be included: {problem}"),
    ("E1203", "include-cycle", "`{file}` includes itself: {chain}", "move what both need into a file of its own"),
    ("E1204", "include-prefixes", "`{file}` is included with {one} here and with {other} elsewhere",
     "include it with the same prefix everywhere"),
    ("E1205", "included-default", "`{key}: {value}` of an included file differs from that of the policy, `{own}`",
     "remove it: the defaults are those of the policy itself"),
    ("E1211", "unknown-variable", "`{name}` is not a variable"),
    ("E1212", "bad-variable", "the variable `{name}` {problem}"),
    ("E1213", "bad-value-of-variable", "the variable `{name}` cannot be set: {problem}"),
    ("E1214", "bad-variable-reference", "{problem}"),
    # Suites of policy tests.
    ("E1101", "not-a-suite", "a suite of policy tests is a mapping, and this is {kind}",
     "begin with `policy:` and a list under `cases:`"),
    ("E1102", "duplicate-case", "two cases have the name `{name}`", "give each case a unique name"),
    ("E1103", "bad-request", "this is not a request: {problem}"),
    ("E1104", "exclusive-keys", "`{key}` and `{other}` do not go together"),
    ("E1105", "empty-test-part", "`{key}` holds nothing"),
    ("E1106", "unknown-parameter", "`${name}` is not a parameter of the case",
     "add a column to the table, or write `$${name}` for the text itself"),
    ("E1107", "bad-row", "the row {problem}"),
    ("E1108", "unused-parameter", "nothing in the case reads the parameter `{name}`",
     "write `${name}` where its value belongs"),
    ("E1109", "unusable-policy", "the policy `{file}` cannot be used: {problem}"),
    ("E1110", "unusable-tools", "the tools `{tools}` cannot be used: {problem}"),
    # Invariants of policies.
    ("E1301", "not-invariants", "a file of invariants is a mapping, and this is {kind}",
     "begin with a list under `invariants:`"),
    ("E1302", "duplicate-invariant", "two invariants have the id `{id}`", "give each invariant a unique id"),
    ("E1303", "one-claim", "an invariant makes one claim, and this makes {count}",
     "write one of `never`, `only_if`, `always` and `within`"),
    ("E1304", "unusable-envelope", "the policy `{file}` cannot be an envelope: {problem}"),
    # Lints.
    ("W0101", "shadowed-rule", "the rule `{id}` can never fire: `{other}` fires first whenever it would",
     "remove it, or give it a higher priority than `{other}`"),
    ("W0102", "allow-before-deny",
     "the rule `{id}` decides `{verdict}` only if `{other}` has not already allowed the call{call}",
     "put `{id}` before `{other}`, or give it a higher priority"),
    ("W0103", "default-allow", "calls that no rule matches are allowed",
     "write `on_no_match: deny` and allow what is needed"),
    ("W0104", "errors-ignored", "a restricting rule with an error is skipped, and the call may be allowed",
     "write `on_rule_error: deny`"),
    ("W0105", "missing-shadow-allowed", "irreversible calls without a shadow are allowed when no rule matches",
     "write `on_missing_shadow: approve_required`"),
    ("W0106", "unanchored-allow", "the rule `{id}` permits every text with a part that matches this pattern",
     "anchor the pattern at both ends: `^...$`"),
    ("W0107", "unused-predicate", "the predicate `{name}` is used by no rule", "use it or remove it"),
    ("W0108", "duplicate-match", "the rules `{id}` and `{other}` match the same calls, and the first one decides",
     "merge the two"),
    ("W0109", "never-true", "this clause can never be true", "add at least one alternative, or remove it"),
    ("W0110", "yaml-1-1-scalar", "`{value}` is a string here, although YAML 1.1 reads it as {other}",
     'quote it: `"{value}"`; or write `{plain}`'),
    ("W0111", "numeric-string-bound", "`{value}` is a string here, and strings are ordered character by character",
     "leave out the quotes to compare numbers"),
    ("W0112", "never-fires", "the match of the rule `{id}` can never be true", "remove the rule or correct its match"),
    ("W0113", "undeclared-value", "no tool declares `{path}` as `{value}`", "the values are {known}"),
    ("W0114", "host-rule-dependency",
     "the Python rule `{name}` depends on a value that its digest covers by type only: {value}",
     "make the decision depend on code, constants and plain data only"),
    ("W0115", "host-rule", "the Python rule `{name}` stays a callable: it {problem}", "{instead}"),
    ("W0116", "host-rule-impure", "the Python rule `{name}` stays a callable that {problem}", "{instead}"),
    ("W0117", "frozen-table", "the Python rule `{name}` captures the {kind} `{table}` at compile time",
     "make it a tuple or a frozenset, or give it an upper-case name if it never changes"),
    ("W0118", "rule-mistake", "the Python rule `{name}` {problem}", "{instead}"),
    ("W0119", "open-command", "the rule `{id}` permits an `{path}` that runs a second command{call}",
     "match the whole line: `^git status( -[a-z]+)*$`"),
    ("W0120", "open-pattern", "the rule `{id}` permits anything in `{path}` {where}{call}",
     "list the required characters: `[a-z0-9-]+`"),
    ("W0121", "open-prefix", "the rule `{id}` permits every `{path}` with a name that starts with `{prefix}`{call}",
     "end the prefix with `/`"),
    ("W0122", "climbing-path", "the rule `{id}` permits an `{path}` that leaves its directory through `..`{call}",
     "add `not: {{{path}.matches: '(^|/)\\.\\.(/|$)'}}`"),
    ("W0123", "open-url", "the rule `{id}` permits an `{path}` on another host than the one it names{call}",
     "write the whole host and the `/` after it: `starts_with: https://api.example.com/`"),
    ("W0124", "unescaped-dot", "the rule `{id}` permits other hosts in `{path}`, as `.` matches any character{call}",
     "write `\\.` for a literal dot"),
    ("W0125", "empty-list-allow", "the rule `{id}` permits an empty list in `{path}`, for which `{op}` is true{call}",
     "add `{path}.length.ge: 1`"),
    ("W0126", "missing-lower-bound",
     "the rule `{id}` permits every number below a bound in `{path}`, negative ones too{call}",
     "write both bounds: `{path}.between: [LOWEST, HIGHEST]`"),
    ("W0127", "negative-only", "the rule `{id}` only excludes values of `{path}`, and permits all others{call}",
     "list the allowed values: `{path}.in: [...]`, or an anchored pattern"),
    ("W0128", "blocklist", "the rule `{id}` permits every `{path}` without a bad text that `{other}` lists{call}",
     "list in `{id}` the allowed values of `{path}`; no list of bad texts is complete"),
    ("W0129", "denied-spelling", "the rule `{id}` permits every `{path}` that is not spelled as in `{other}`{call}",
     "list in `{id}` the allowed values of `{path}`; a denial by equality misses every other spelling"),
    ("W0130", "listed-environments",
     "the rule `{id}` permits calls whose `{path}` is not one of the listed values{call}",
     "list in `{id}` the values for which it permits: `{path}.in: [...]`"),
    ("W0131", "open-tool", "the rule `{id}` permits tools by a part of their names{call}",
     "name them: `tool.in: [...]`"),
    ("W0132", "append-to-text", "the rule `{id}` appends to an `{path}` whose end can cancel the appended text{call}",
     "set a separate argument, or permit only texts without comments"),
    ("W0133", "unnamed-approvers", "the rule `{id}` needs {count} approvals, but names no approvers",
     "name them: `approvers: [...]`"),
    ("W0134", "allow-everything", "the rule `{id}` permits every tool, including tools added later{call}",
     "name the permitted tools: `tool.in: [...]`"),
    ("W0135", "any-element", "the rule `{id}` permits a list in `{path}` if any of its elements passes{call}",
     "write `{path}.all` for every element, and `{path}.length.ge: 1`"),
    ("W0136", "unused-ignore", "no finding `{ignored}` here to ignore",
     "remove it, or put it on the line of the finding or of its rule, or above"),
    ("W0137", "invalid-ignore", "invalid ignore comment: {problem}", "write `# bobcat: ignore W0102 because REASON`"),
    ("W0138", "unknown-tool", "the rule `{id}` names the unknown tool `{tool}`"),
    ("W0139", "unknown-argument", "the rule `{id}` reads `{path}`, but {tools} no such argument"),
    ("W0140", "impossible-value", "the rule `{id}` compares `{path}` with a value that it can never have: {value}",
     "`{path}` is {has}"),
    ("W0141", "unmet-rule", "no tool can make the match of the rule `{id}` true",
     "compare it with the tools' declarations, or remove it"),
    ("W0142", "operator-or-argument", "`{operator}` in `{key}` is an operator; earlier versions compared an argument",
     "write `{quoted}` for the argument; ignore the finding if the operator is intended"),
    ("W0143", "facet-or-entry",
     "`{facet}` derives a value from `{path}` in the rule `{id}`, and the policy reads entries of `{path}`",
     "write `{quoted}` for the entry; ignore the finding if the derived value is intended"),
    ("W0144", "broad-capability", "`{what}` permits more than most capabilities: {problem}", "{instead}"),
    ("W0145", "unused-source", "the source `{name}` is used by no rule", "use it or remove it"),
    ("W0146", "never-counted", "no rule permits a call of {tools} that the rule `{id}` counts",
     "correct the name of the tool, or permit it"),
    ("W0147", "never-filled", "no rule permits a call of {tools} that fills the source `{source}`",
     "correct the name of the tool, or permit it"),
    ("W0148", "vacuous-sequence", "this condition of the rule `{id}` is {value} in every run",
     "correct the names of the tools, or remove the condition"),
    ("W0149", "shrinking-sum", "the rule `{other}` permits a negative `{argument}`, which makes this sum smaller",
     "add `{argument}.ge: 0` to that rule"),
    ("W0155", "unused-variable", "nothing refers to the variable `{name}`", "use it or remove it"),
    ("N0101", "capped-comparisons", "the lints have compared only part of the policy: {what}",
     "split the policy so that all of it is compared"),
    ("N0102", "tool-by-default", "no rule is about the tool `{tool}`: `on_no_match` decides its calls, `{verdict}`",
     "name it in a rule if that is not intended"),
    ("N0103", "skipped-file", "`{file}` is skipped: {problem}"),
    ("N0104", "text-of-resource", "`{operator}` in the rule `{id}` tests the text of `{path}`, not its meaning",
     "write `{path}.{facet}`"),
    # The `lynx` profile: errors of lynx-agent, and permissive behaviour.
    ("E0901", "lynx-refused", "{problem}"),
    ("E0902", "lynx-limit", "{problem}", "lynx-agent has no such limit; split the policy"),
    ("W0201", "lynx-match-missing", "{where} has no `match` and holds for every call",
     "write `match: {{}}` if that is intended"),
    ("W0202", "lynx-unknown-key", "{where}: unused {keys}", "correct the spelling or remove it"),
    ("W0203", "lynx-loose-default", "`{key}: {value}` lets calls run that no rule has allowed",
     "write `deny` or `approve_required`"),
    ("W0204", "lynx-duplicate-key", "{where}: the last of several `{text}` counts", "keep one"),
    ("W0205", "lynx-duplicate-id", "{where} is not the only rule of that id", "rename one of the two"),
    ("W0206", "lynx-yaml-1-1", "{where}: YAML 1.1 reads `{text}` as {value}", "quote it if a string is intended"),
    ("W0207", "lynx-unknown-path", "{where}: `{key}` is no path of a request",
     "paths begin with `tool`, `args.`, `declared.` or `context.`"),
    ("W0208", "lynx-not-a-list", "{where}: `{key}: {text}` is split into characters", "write a list: `[{text}]`"),
    ("W0209", "lynx-fail-open", "{where} restricts, but is skipped if `{key}` has a value of another type",
     "the strict profile denies such calls"),
    ("W0210", "lynx-slow-pattern", "{where}: `{pattern}` runs on Python's `re`, in up to exponential time",
     "write it without look-around and back-references"),
    ("W0211", "lynx-decision-missing", "{where} has no decision and denies", "write `decision: deny`"),
    ("W0212", "lynx-negated-absence", "{where} permits calls in which `{key}` is missing",
     "the strict profile does not treat absence as evidence"),
    ("W0213", "lynx-transform-target", "{where} writes the argument `{key}`", "name one argument: `$.args.name`"),
    ("W0214", "lynx-coerced", "{where}: `{key}: {text}` is read as {value}", "write the integer itself"),
    ("W0215", "lynx-no-operator", "{where}: `{name}` is not an operator, and `{key}` compares an argument of that name",
     "the operators are those of the policy language"),
    ("W0216", "lynx-whole-value", "{where}: `{key}` compares the whole value with a list or a mapping",
     "use `in` for alternatives, and dots for steps into a mapping"),
    # Displayed texts, in the strict profile.
    ("W0220", "hidden-characters",
     "the {what} of the rule `{id}` has characters that are displayed as escapes: `{hidden}`",
     "write plain text; `>` in place of `|` joins lines into one"),
)
# fmt: on

CODES: Mapping[str, Code] = MappingProxyType({row[0]: Code(*row) for row in _ROWS})


def diagnose(
    code: str,
    span: Span | None,
    *,
    help: str | None = None,
    related: Iterable[Related] = (),
    **params: object,
) -> Diagnostic:
    """Create the diagnostic `code` at `span`. `help` replaces the catalogue's help line; `params` fill the
    templates.
    """
    entry = CODES[code]
    if help is None and entry.help is not None:
        help = entry.help.format_map(params)
    return Diagnostic(code, entry.severity, entry.message.format_map(params), span, help, tuple(related))
