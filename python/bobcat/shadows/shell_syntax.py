"""The structure of a shell command line: commands, words, redirections and the commands inside substitutions.

A parser of POSIX shell syntax for previews: it handles quoting, operators and substitutions, expands
nothing, and reports unsupported syntax.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

_OPERATORS = ("&&", "||", ";;", "|&", "&>>", "&>", ">>", ">|", ">&", "<<<", "<<", "<&", "<>", ">", "<", "|", "&", ";",
              "(", ")", "\n")  # fmt: skip
_REDIRECTIONS = frozenset({"&>>", "&>", ">>", ">|", ">&", "<<<", "<<", "<&", "<>", ">", "<"})
_WRITES = frozenset({"&>>", "&>", ">>", ">|", ">&", "<>", ">"})
_DELIMITER = re.compile(r"(?P<tabs>-?)[ \t]*(?P<word>(?:'[^']*'|\"[^\"]*\"|\\.|[^\s;|&<>()'\"\\])+)")
_VARIABLE = re.compile(r"[\w?#@*!$-]*")
_UNQUOTED = str.maketrans("", "", "'\"\\")
MAX_NESTING = 16
"""Substitutions nested deeper are not read, but reported."""


@dataclass(slots=True)
class SimpleCommand:
    """One command: its words without quotes, the files of its redirections, and its standard input text."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    input: str | None = None


@dataclass(slots=True)
class Script:
    """Every command that a line may run, at any depth, and the parts that could not be parsed."""

    commands: list[SimpleCommand] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    kind: Literal["word", "operator", "input"]


def read_script(text: str, depth: int = 0) -> Script:
    """Parse the commands of `text`, including its substitutions."""
    script = Script()
    if depth > MAX_NESTING:
        script.unresolved.append("nested too deeply")
        return script
    reader = _ShellReader(text, script, depth)
    current = SimpleCommand()
    redirection: str | None = None
    line = 0
    for token in reader.tokens():
        if token.kind == "input":  # a here-document belongs to an unknown command of this line, so it is given to each
            for command in (*script.commands[line:], current):
                command.input = token.text
        elif token.kind == "operator" and token.text in _REDIRECTIONS:
            if current.words and current.words[-1].isdigit():
                current.words.pop()  # the descriptor of `2>`
            redirection = token.text
        elif token.kind == "operator":
            if token.text == "(" and current.words:
                script.unresolved.append(f"function {current.words[-1]}")
            script.commands.append(current)
            current, redirection = SimpleCommand(), None
            line = len(script.commands) if token.text == "\n" else line
        elif redirection is not None:
            if redirection in _WRITES and not (redirection == ">&" and (token.text.isdigit() or token.text == "-")):
                current.writes.append(token.text)
            if redirection in ("<", "<>"):
                current.reads.append(token.text)
            if redirection == "<<<":
                current.input = token.text
            redirection = None
        else:
            current.words.append(token.text)
    script.commands.append(current)
    script.commands = [command for command in script.commands if command.words or command.writes or command.reads]
    return script


class _ShellReader:
    """Tokenizer of a text; the commands of substitutions are added directly to `script`."""

    def __init__(self, text: str, script: Script, depth: int) -> None:
        self.text = text
        self.at = 0
        self.script = script
        self.depth = depth
        self.documents: list[tuple[str, bool, bool]] = []

    def tokens(self) -> list[_Token]:
        found: list[_Token] = []
        word: list[str] | None = None
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "#" and word is None:
                self.skip_comment()
                continue
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self.inner(self.until_closed())
                word = word or []
                continue
            operator = self.operator()
            if operator is None and char not in " \t\r":
                word = [] if word is None else word
                word.append(self.piece(char))
                continue
            if word is not None:
                found.append(_Token("".join(word), "word"))
                word = None
            self.at += len(operator or char)
            if operator == "<<":
                self.delimiter()
                continue
            if operator == "\n":
                found.extend(_Token(self.document(*each), "input") for each in self.documents)
                self.documents.clear()
            if operator is not None:
                found.append(_Token(operator, "operator"))
        if word is not None:
            found.append(_Token("".join(word), "word"))
        return found

    def operator(self) -> str | None:
        return next((op for op in _OPERATORS if self.text.startswith(op, self.at)), None)

    def delimiter(self) -> None:
        """Read the word after `<<`: the text up to that delimiter is a command's input, not a script."""
        found = _DELIMITER.match(self.text, self.at)
        if found is None:
            return
        self.at = found.end()
        word = found["word"]
        plain = word.translate(_UNQUOTED)
        self.documents.append((plain, plain != word, bool(found["tabs"])))

    def document(self, delimiter: str, quoted: bool, tabs: bool) -> str:
        """Read a here-document; substitutions in it are parsed unless the delimiter is quoted."""
        start = self.at
        while self.at < len(self.text):
            end = self.text.find("\n", self.at)
            end = len(self.text) if end < 0 else end
            line, first = self.text[self.at : end], self.at
            self.at = min(end + 1, len(self.text))
            if (line.lstrip("\t") if tabs else line) == delimiter:
                break
        else:
            self.script.unresolved.append(f"unclosed <<{delimiter}")
            first = len(self.text)
        body = self.text[start:first]
        if not quoted:
            inside = _ShellReader(body, self.script, self.depth)
            while inside.at < len(body):
                char = body[inside.at]
                inside.at += 2 if char == "\\" else 1
                if char in "$`":
                    inside.expansion(char)
        return body

    def skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def piece(self, char: str) -> str:
        """Read one part of a word: a quoted string, a substitution, or a character."""
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
        """Read a `$` or a backtick: its commands are parsed, its value is unknown."""
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
            name = _VARIABLE.match(self.text, self.at)
            self.at = name.end() if name is not None else self.at
        shown = self.text[start : self.at]
        if len(shown) > 1:
            self.script.unresolved.append(shown)
        return shown

    def until_closed(self) -> str:
        """Read up to the matching closing parenthesis."""
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
