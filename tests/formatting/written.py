"""Random policies as people may write them: any indentation, style, quotes and place of comments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

KEYS = (
    "tool",
    "args.x",
    "args.n.gt",
    "context.environment",
    "a b",
    "ключ",
    "id",
    "match",
    "it's",
    "args.y.in",
    "decision",
)
TEXTS = (
    *(
        "plain",
        "two words",
        "5",
        "true",
        "",
        "it's",
        'a "b"',
        "back\\slash",
        "naïve",
        "# no comment",
        "a: b",
        "-",
        "null",
    ),
    *(
        "line\nline",
        " led",
        "tail ",
        "ends\n",
        "two\n\nparts\n",
        "  led\nlines\n",
        "*x",
        "&y",
        "[a",
        "{b",
        "a #b",
        "\t",
    ),
    *("no", "1_000", "long " * 40, "é\u2028", "\u200b", "${v}", "%d", "@a", "`b`", "!t", "?", "a, b", "...", "---"),
)


def random_data(random: Random, depth: int = 0) -> Any:
    """Data as a policy may hold: mappings, lists and scalars."""
    kind = random.random() + depth * 0.12
    if kind < 0.45:
        return {random.choice(KEYS): random_data(random, depth + 1) for _ in range(random.randint(0, 4))}
    if kind < 0.75:
        return [random_data(random, depth + 1) for _ in range(random.randint(0, 4))]
    return random.choice([random.choice(TEXTS), random.choice(TEXTS), 5, -1.5, True, False, None, 0x1F])


def random_policy(random: Random) -> dict[str, Any]:
    """A mapping with the sections of a policy, most of them with errors."""
    return {"defaults": random_data(random), "rules": [random_data(random) for _ in range(random.randint(0, 4))],
            "predicates": random_data(random)}  # fmt: skip


@dataclass
class Writer:
    """Writes data as YAML, with a comment wherever one may stand. `comments` has all of them."""

    random: Random

    def __post_init__(self) -> None:
        self.comments: list[str] = []

    def text(self, data: dict[str, Any]) -> str:
        lines = [*self._alone(0), *self._mapping(data, 0), *self._alone(0)]
        return "".join(f"{line}\n" for line in lines)

    def _alone(self, indent: int) -> Iterator[str]:
        while self.random.random() < 0.2:
            yield from [""] * (self.random.random() < 0.4)
            yield " " * indent + self._comment()
            yield from [""] * (self.random.random() < 0.3)

    def _comment(self) -> str:
        self.comments.append(
            f"# c{len(self.comments)} - {self.random.choice(['x', 'a: b', '- ', '# #', 'é', '[{'])}".rstrip()
        )
        return self.comments[-1]

    def _behind(self) -> str:
        return f"  {self._comment()}" if self.random.random() < 0.2 else ""

    def _mapping(self, data: dict[str, Any], indent: int) -> Iterator[str]:
        for key, value in data.items():
            yield from self._alone(indent)
            yield from self._entry(f"{self._quoted(key)}:", value, indent, least=1)

    def _sequence(self, data: list[Any], indent: int) -> Iterator[str]:
        for value in data:
            yield from self._alone(indent)
            if isinstance(value, dict) and value and self.random.random() < 0.6:
                spaces = self.random.randint(1, 3)
                first, *rest = [*self._mapping(value, indent + 1 + spaces)]
                if not first.strip().startswith("#") and first.strip():
                    yield f"{' ' * indent}-{' ' * spaces}{first.lstrip()}"
                    yield from rest
                    continue
                yield f"{' ' * indent}-"
                yield from [first, *rest]
                continue
            yield from self._entry("-", value, indent, least=1)

    def _entry(self, name: str, value: Any, indent: int, *, least: int) -> Iterator[str]:
        pad = " " * indent
        if isinstance(value, dict | list) and value and self.random.random() < 0.6:
            yield f"{pad}{name}{self._behind()}"
            inner = indent + self.random.randint(least, 4)
            if isinstance(value, list) and name != "-" and self.random.random() < 0.3:
                inner = indent
            yield from self._mapping(value, inner) if isinstance(value, dict) else self._sequence(value, inner)
        elif isinstance(value, str) and "\n" in value and self.random.random() < 0.7:
            yield from self._block(f"{pad}{name} ", value, indent)
        elif isinstance(value, dict | list) and self.random.random() < 0.3:
            yield from self._spread(f"{pad}{name} ", value, indent)
        else:
            yield f"{pad}{name} {self._flow(value)}{self._behind()}"

    def _spread(self, start: str, value: Any, indent: int) -> Iterator[str]:
        """A flow collection on several lines."""
        opened, closed = "{}" if isinstance(value, dict) else "[]"
        items = list(value.items()) if isinstance(value, dict) else value
        yield f"{start}{opened}{self._behind()}"
        for item in items:
            yield from self._alone(indent + 2)
            written = f"{self._quoted(item[0])}: {self._flow(item[1])}" if isinstance(value, dict) else self._flow(item)
            yield f"{' ' * (indent + 2)}{written},{self._behind()}"
        yield f"{' ' * (indent + 1)}{closed}{self._behind()}"

    def _block(self, start: str, text: str, indent: int) -> Iterator[str]:
        body, chomp = (text[:-1], "") if text.endswith("\n") and not text.endswith("\n\n") else (text, "-")
        inner = self.random.randint(1, 4)
        digit = str(inner) if body.startswith((" ", "\n")) or self.random.random() < 0.2 else ""
        note = f" {self._comment()}" if self.random.random() < 0.2 else ""
        yield f"{start}|{digit}{chomp}{note}"
        for line in body.split("\n"):
            yield " " * (indent + inner) + line if line else ""

    def _flow(self, value: Any) -> str:
        space = " " * self.random.randint(0, 2)
        if isinstance(value, dict):
            return f"{{{space}{', '.join(f'{self._quoted(k)}: {self._flow(v)}' for k, v in value.items())}{space}}}"
        if isinstance(value, list):
            return f"[{space}{', '.join(map(self._flow, value))}{space}]"
        if isinstance(value, str):
            return self._quoted(value)
        return json.dumps(value)

    def _quoted(self, text: str) -> str:
        if text.isalnum() and not text.isdigit() and text not in ("true", "null", "no") and self.random.random() < 0.5:
            return text
        if "\n" not in text and text.isprintable() and self.random.random() < 0.5:
            return "'" + text.replace("'", "''") + "'"
        return json.dumps(text, ensure_ascii=self.random.random() < 0.3).replace("\u2028", "\\u2028")
