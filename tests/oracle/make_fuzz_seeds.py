"""Writes where fuzzing starts: a directory of inputs for every target, and a dictionary of words.

    python tests/oracle/make_fuzz_seeds.py DIRECTORY

`.ci/fuzz` calls it. Policies are those of the vectors, functions the corpus of Python rules and random nodes. Inputs
that once broke a promise are in `rust/fuzz/found`, which the tests of the core replay.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bobcat import Request
from bobcat._core import Program, RunState
from bobcat.compiler import compile_policy
from bobcat.errors import RequestError
from bobcat.frontend.python.lower import lower_function
from bobcat.ir.canonical import encode_value
from bobcat.model.request_json import request_to_json
from oracle.function_nodes import Functions, request
from pattern_grammar import pattern, soup, texts
from pyrules.calls import request as call
from pyrules.rules import corpus
from shell.command_lines import Lines
from sql.statements import Statements

ROOT = Path(__file__).parents[2]
RANDOM_FUNCTIONS = 300
START = datetime(2026, 1, 1, tzinfo=UTC)
RANDOM_PATTERNS = 200
COMMAND_LINES = 500
SCALARS = """
    0 -1 007 9223372036854775807 -9223372036854775808 18446744073709551616 2026-01-31T12:00:00Z
    2024-02-29T23:59:59.123456+14:00 0001-01-01T00:00:00-23:59 9999-12-31t23:59:59.9z 2026-06-30T12:00:00.1200000Z
""".split()


def lines() -> list[tuple[str, list[str]]]:
    """The vectors: the IR of a policy, and its requests."""
    found = []
    for line in (ROOT / "tests/vectors/cases.jsonl").read_text(encoding="utf-8").splitlines():
        ir, _, _ = line.removeprefix('{"ir":').partition(',"requests":[')
        found.append((ir, [json.dumps(entry["request"]) for entry in json.loads(line)["requests"]]))
    return found


def ir() -> Iterator[bytes]:
    """Policies: of the vectors, of the examples, and one function each."""
    yield from (text.encode() for text, _ in lines())
    for path in sorted((ROOT / "examples/policies").glob("*.yaml")):
        yield compile_policy(path.read_text(encoding="utf-8")).ir_bytes
    for code, slots in functions():
        yield _policy(code, slots)


def _policy(code: bytes, slots: int) -> bytes:
    head = b'{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,'
    tail = f'],"k":"function","name":"f","priority":0,"slots":{slots}}}]}}'.encode()
    return head + b'"language_version":1,"profile":"strict","rules":[{"body":[' + code + tail


@cache
def functions() -> tuple[tuple[bytes, int], ...]:
    """The code of functions, and how many slots each has."""
    return tuple(_functions())


def _functions() -> Iterator[tuple[bytes, int]]:
    for name, rule in corpus().items():
        lowered = lower_function(rule, name, 0).rule
        if lowered is not None:
            yield encode_value(lowered.body)[1:-1], lowered.slots
    for seed in range(RANDOM_FUNCTIONS):
        body, slots = Functions(Random(seed)).function()
        yield encode_value(body)[1:-1], slots


def calls() -> Iterator[bytes]:
    """Requests to functions, as JSON."""
    seed = 0
    while True:
        seed += 1
        for made in (request(Random(seed)), call(Random(seed))):
            try:
                yield request_to_json(made).encode()
            except (RequestError, ValueError, TypeError):
                continue


def patterns() -> list[str]:
    """Patterns of both dialects, good and bad."""
    rng = Random(1)
    made = [
        make(rng, dialect) for _ in range(RANDOM_PATTERNS) for dialect in ("re2", "python") for make in (pattern, soup)
    ]
    return [text for text in made if "\0" not in text and text.isprintable()]


def inputs() -> Iterator[tuple[str, bytes]]:
    """Targets, and what each starts from."""
    yield from (("decode_ir", data) for data in ir())
    yield from (
        ("ask_analysis", bytes([number % 4, number % 256, number // 256]) + data) for number, data in enumerate(ir())
    )
    for (code, _), made in zip(functions(), calls(), strict=False):
        yield "run_function", code + b"\0" + made
    for number, (_, requests) in enumerate(lines()):
        yield "json_lines", number.to_bytes(2, "little") + "\n".join(requests).encode()
        yield from (("json_request", text.encode()) for text in requests[:1])
    for made, _ in zip(calls(), range(100), strict=False):
        yield "json_request", made
    for index, text in enumerate(patterns()):
        subject = "".join(texts(Random(index), 2))
        yield "parse_pattern", text.encode()
        yield "search_patterns", f"{text}\0{subject}".encode("utf-8", "replace")
    yield from (("parse_shell", Lines(seed).line().encode()) for seed in range(COMMAND_LINES))
    yield from (("parse_sql", Statements(seed, lite=False).statement().encode()) for seed in range(COMMAND_LINES))
    yield from (("read_scalars", text.encode()) for text in SCALARS)
    yield from (("occurs_in", f"{value}\0{text}".encode()) for value, text in occurrences())
    yield from (("find_links", text.encode()) for _, text in occurrences())
    yield from (("load_state", data) for data in snapshots())
    yield from (("read_yaml", path.read_bytes()) for path in sorted((ROOT / "examples/policies").glob("*.yaml")))


def occurrences() -> Iterator[tuple[str, str]]:
    """The vectors of values in texts."""
    for line in (ROOT / "tests/vectors/occurrences.jsonl").read_text(encoding="utf-8").splitlines():
        value, text, *_ = json.loads(line)
        yield value if isinstance(value, str) else json.dumps(value), text


def snapshots() -> Iterator[bytes]:
    """Snapshots of the policy that the target loads, without their head and checksum."""
    program = Program((ROOT / "rust/core/tests/fuzzing/remembering.json").read_bytes(), ())
    state = RunState(program, task="list the files, 5 of them")
    for number in range(12):
        made = Request("shell", {"cmd": "https://a.example", "n": number, "m": {"k": 1.5}}, timestamp=START)
        state.call(made, str(number))
        if number % 3:
            state.result(str(number), {"k": "list", "n": 2, "cmd": "www.b.example"}, START + timedelta(seconds=number))
        state.next_reply()
        yield state.dump()[40:-32]


def words() -> set[str]:
    """The words of the IR."""
    return {word for data in ir() for word in re.findall(r'"[a-z_0-9]{2,24}"', data.decode())}


def write(directory: Path) -> None:
    """Makes the directories and the dictionary in `directory`."""
    for number, (target, data) in enumerate(inputs()):
        place = directory / target
        place.mkdir(parents=True, exist_ok=True)
        (place / f"seed{number}").write_bytes(data)
    escaped = sorted(word.replace('"', '\\"') for word in words())
    (directory / "words.dict").write_text("".join(f'"{word}"\n' for word in escaped), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
