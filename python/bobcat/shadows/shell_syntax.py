"""The structure of a shell command line: commands, words, redirections and the commands inside substitutions.

A reader of POSIX shell syntax, as far as a preview needs it: it knows quoting, operators and substitutions, expands
nothing, and says where its knowledge ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_OPERATORS = ("&&", "||", ";;", "|&", "&>>", "&>", ">>", ">|", ">&", "<<<", "<<", "<&", "<>", ">", "<", "|", "&", ";",
              "(", ")", "\n")  # fmt: skip
_REDIRECTIONS = frozenset({"&>>", "&>", ">>", ">|", ">&", "<<<", "<<", "<&", "<>", ">", "<"})
_WRITES = frozenset({"&>>", "&>", ">>", ">|", ">&", "<>", ">"})
MAX_NESTING = 16
"""Substitutions nested deeper are left unread, and reported."""


@dataclass(slots=True)
class SimpleCommand:
    """One command: its words without quotes, and the files its output goes to."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Script:
    """Every command that a line may run, wherever it stands, and what could not be read."""

    commands: list[SimpleCommand] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    operator: bool


def read_script(text: str, depth: int = 0) -> Script:
    """The commands of `text`, those of its substitutions included."""
    script = Script()
    if depth > MAX_NESTING:
        script.unresolved.append("nested too deeply")
        return script
    reader = _Reader(text, script, depth)
    current = SimpleCommand()
    redirection: str | None = None
    for token in reader.tokens():
        if token.operator and token.text in _REDIRECTIONS:
            if current.words and current.words[-1].isdigit():
                current.words.pop()  # the descriptor of `2>`
            redirection = token.text
        elif token.operator:
            script.commands.append(current)
            current, redirection = SimpleCommand(), None
        elif redirection is not None:
            if redirection in _WRITES and not (redirection == ">&" and (token.text.isdigit() or token.text == "-")):
                current.writes.append(token.text)
            redirection = None
        else:
            current.words.append(token.text)
    script.commands.append(current)
    script.commands = [command for command in script.commands if command.words or command.writes]
    return script


class _Reader:
    """Reads tokens off a text; the commands of substitutions go straight into `script`."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text = text
        self.at = 0
        self.script = script
        self.depth = depth

    def tokens(self) -> list[_Token]:
        found: list[_Token] = []
        word: list[str] | None = None
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r":
                self.at += 1
            elif char == "#" and word is None:
                self.skip_comment()
                continue
            elif char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self.inner(self.until_closed())
                word = word or []
                continue
            elif (operator := self.operator()) is not None:
                self.at += len(operator)
                if word is not None:
                    found.append(_Token("".join(word), False))
                found.append(_Token(operator, True))
                word = None
                continue
            else:
                word = [] if word is None else word
                word.append(self.piece(char))
                continue
            if word is not None:
                found.append(_Token("".join(word), False))
                word = None
        if word is not None:
            found.append(_Token("".join(word), False))
        return found

    def operator(self) -> str | None:
        return next((op for op in _OPERATORS if self.text.startswith(op, self.at)), None)

    def skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def piece(self, char: str) -> str:
        """One part of a word: a quoted stretch, a substitution, or a character."""
        self.at += 1
        if char == "'":
            return self.until("'")
        if char == '"':
            return self.double_quoted()
        if char == "\\":
            escaped = self.text[self.at : self.at + 1]
            self.at += 1
            return "" if escaped == "\n" else escaped
        if char == "$" or char == "`":
            return self.expansion(char)
        return char

    def until(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.script.unresolved.append(f"unclosed {end}")
            stop = len(self.text)
        found = self.text[self.at : stop]
        self.at = stop + 1
        return found

    def double_quoted(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(parts)
            if char == "\\" and self.text[self.at : self.at + 1] in ("$", "`", '"', "\\", "\n"):
                parts.append(self.text[self.at])
                self.at += 1
            elif char == "$" or char == "`":
                parts.append(self.expansion(char))
            else:
                parts.append(char)
        self.script.unresolved.append('unclosed "')
        return "".join(parts)

    def expansion(self, char: str) -> str:
        """A `$` or a backtick: the commands in it are read, its value is unknown."""
        start = self.at - 1
        if char == "`":
            self.inner(self.until("`"))
        elif self.text.startswith("((", self.at):
            self.at += 1
            self.until_closed()
        elif self.text.startswith("(", self.at):
            self.at += 1
            self.inner(self.until_closed())
        elif self.text.startswith("'", self.at):
            self.at += 1
            self.script.unresolved.append("$'...'")
            return self.until("'")
        elif self.text.startswith("{", self.at):
            body = self.until("}")
            if "`" in body or "$(" in body:
                self.inner(body.replace("{", " "))
        else:
            while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_?#@*!$-"):
                self.at += 1
        shown = self.text[start : self.at]
        if len(shown) > 1:
            self.script.unresolved.append(shown)
        return shown

    def until_closed(self) -> str:
        """Up to the parenthesis that closes the one just read."""
        start, depth = self.at, 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "'":
                self.until("'")
            elif char == "\\":
                self.at += 1
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    return self.text[start : self.at - 1]
        self.script.unresolved.append("unclosed (")
        return self.text[start:]

    def inner(self, text: str) -> None:
        nested = read_script(text, self.depth + 1)
        self.script.commands.extend(nested.commands)
        self.script.unresolved.extend(nested.unresolved)
