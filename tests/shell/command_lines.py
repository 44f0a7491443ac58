"""Generated command lines: a grammar of what a shell reads, spelled in hostile ways, and mutated."""

from __future__ import annotations

from random import Random

PROGRAMS = ("ls", "cat", "rm", "cp", "grep", "git", "make", "head", "./run.sh", "d/run.sh", "id", "curl")
ARGUMENTS = (
    "-l",
    "-rf",
    "f.txt",
    "a b",
    "x",
    "it's",
    'say "hi"',
    "a;b",
    "a|b",
    "$HOME",
    "*.py",
    "#no",
    "",
    "--",
    "a=b",
    "\\",
    "{}",
    "!",
    "é",
    "-",
    "n\nl",
    "~",
)
BREAKS = (
    *(
        ";",
        "&",
        "|",
        "&&",
        "||",
        "\n",
        "\\\n",
        "\\",
        "'",
        '"',
        "`",
        "$",
        "(",
        ")",
        "{",
        "}",
        "<",
        ">",
        ">>",
        "<<",
        "<<<",
        ">&",
        "&>",
        "2>",
        "#",
    ),
    *(
        " ",
        "\t",
        "\r",
        "!",
        "=",
        "+=",
        "~",
        "*",
        "?",
        "[",
        "]",
        ",",
        "..",
        "$(",
        "${",
        "$'",
        '$"',
        "$IFS",
        "${IFS}",
        "$@",
        ":",
        ".",
        "-c ",
        "-",
        "--",
    ),
    *(
        "\u00a0",
        "\u2028",
        "\x0b",
        "\x0c",
        "if ",
        "then ",
        "fi",
        "time ",
        "! ",
        "{ ",
        "; }",
        "eval ",
        "exec ",
        "command ",
        "env ",
        "A=1 ",
        "$((",
        "))",
    ),
    *(
        "\\\n#",
        "()",
        "() { rm; }",
        "<(rm)",
        "`rm`",
        "$(rm)",
        "\nrm\n",
        ";rm",
        "|rm",
        "&rm",
        "\\\n;rm",
        "<<E\nrm\nE\n",
        "<<'E'\n$(rm)\nE\n",
        "x\\",
        "{rm,x}",
    ),
)
TARGETS = ("out", "/dev/null", "f.txt", "'a b'", "&1", "&-", "&2", '"$A"', "$A", "$D")


class Lines:
    """Command lines of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def line(self) -> str:
        """One command line; every second one is mutated."""
        text = self.list(2)
        while self.random.random() < 0.5:
            text = self.mutated(text)
        return text.replace("\0", "")

    def mutated(self, text: str) -> str:
        at = self.random.randrange(len(text) + 1)
        match self.random.randrange(4):
            case 0:
                return text[:at] + text[at + 1 :]
            case 1:
                return text[:at] + self.random.choice(BREAKS) + text[at + 1 :]
            case _:
                return text[:at] + self.random.choice(BREAKS) + text[at:]

    def list(self, depth: int) -> str:
        parts = [self.pipeline(depth)]
        while self.random.random() < 0.35:
            parts += [
                self.random.choice((" && ", " || ", "; ", " & ", "\n", ";", "&&", "|", " | ")),
                self.pipeline(depth),
            ]
        return "".join(parts) + self.random.choice(("", "", "", ";", " &", "\n", " # rm"))

    def pipeline(self, depth: int) -> str:
        chance = self.random.random()
        if depth and chance < 0.08:
            return f"({self.list(depth - 1)}\n)"
        if depth and chance < 0.16:
            return f"{{ {self.list(depth - 1)}\n}}"
        return self.random.choice(("", "", "", "", "! ")) + self.command(depth)

    def command(self, depth: int) -> str:
        words = [f"V{self.random.randrange(3)}={self.word('v w')}"] if self.random.random() < 0.1 else []
        words += self.launched(depth)
        while self.random.random() < 0.2:
            words.append(
                self.random.choice((">", ">>", "<", "2>", ">|", "<>", "&>", ">&"))
                + self.random.choice(("", " "))
                + self.random.choice(TARGETS)
            )
        return self.random.choice((" ", " ", " ", "  ", "\t", " \\\n")).join(words)

    def launched(self, depth: int) -> list[str]:
        program = [self.word(self.random.choice(PROGRAMS)), *self.arguments()]
        if self.random.random() < 0.6:
            return program
        inner = " ".join(program)
        text = self.list(depth - 1) if depth else inner
        return self.random.choice(
            (
                ["env", *self.random.choice(([], ["-i"], ["A=1"], ["-u", "X"], ["-uX"], ["--"])), *program],
                ["nice", *self.random.choice(([], ["-n", "5"], ["-5"], ["-n5"])), *program],
                ["timeout", *self.random.choice(([], ["-k", "1"], ["--kill-after=1"])), "5", *program],
                ["nohup", *program],
                ["setsid", *self.random.choice(([], ["-w"], ["-fw"])), *program],
                ["stdbuf", "-oL", *program],
                [
                    "xargs",
                    *self.random.choice(([], ["-0"], ["-n1"], ["-n", "1"], ["-I{}"], ["-I", "%"], ["-r"])),
                    *program,
                ],
                [
                    "find",
                    ".",
                    *self.random.choice(([], ["-name", "'*.py'"], ["-type", "f"])),
                    "-exec",
                    *program,
                    self.random.choice(("\\;", "';'", "{} +", "{} \\;")),
                ],
                [
                    self.random.choice(("sh", "bash", "dash")),
                    self.random.choice(("-c", "-ec", "-uc", "-c --")),
                    self.quoted(text),
                ],
                ["command", *program],
                ["exec", *program],
                ["time", *self.random.choice(([], ["-p"])), *program],
                [
                    "sed",
                    self.random.choice(("-n", "-e", "-i", "-E")),
                    self.quoted(
                        self.random.choice(("1p", "s/a/b/", "1e rm", "s/a/rm/e", "$!N", "/x/d;p", "1{p;e rm\n}"))
                    ),
                    "f.txt",
                ],
                [
                    "awk",
                    self.quoted(
                        self.random.choice(
                            ("{print $1}", 'BEGIN{system("rm")}', '"rm"|getline', "/a||b/", 'BEGIN{print 1 > "out"}')
                        )
                    ),
                    "f.txt",
                ],
                ["flock", "-n", "lock", *self.random.choice((program, ["-c", self.quoted(text)]))],
                ["bash", "run.sh", *self.arguments()],
                ["eval", inner],
                ["builtin", "command", *program],
                [self.random.choice(("[", "test")), *self.tested()],
                ["printf", self.random.choice(("%s", "'%s\\n'", "%d", "x", self.variable())), self.variable()],
                ["export", f"V1={self.variable()}"],
            )
        )

    def arguments(self) -> list[str]:
        found = []
        while self.random.random() < 0.5 and len(found) < 5:
            found.append(
                self.random.choice(
                    ("*.py", "./*", "~", "~/x", "{a,b}", "x{1..3}", *(self.variable() for _ in range(6)))
                )
                if self.random.random() < 0.2
                else self.word(self.random.choice(ARGUMENTS))
            )
        return found

    def tested(self) -> list[str]:
        words = [self.random.choice(("-n", "-f", "-v", "=", "!=", "-eq", "!", self.variable())) for _ in range(3)]
        return [*words[: self.random.randrange(1, 4)], "]"]

    def variable(self) -> str:
        """A word with the value of a variable."""
        name = self.random.choice("AABBCDEFG12@*#?$!")
        value = self.random.choice((f"${name}", f"${{{name}}}"))
        return self.random.choice(('"@"', "@", "x@", '"x@"', "-@", '"@"x', '"@@"', "-n@", "a=@")).replace("@", value)

    def word(self, text: str) -> str:
        """The text in one of its spellings."""
        if self.random.random() < 0.6 and text and all(char.isalnum() or char in "-./" for char in text):
            return text
        pieces, at = [], 0
        while at < len(text):
            size = self.random.randrange(1, len(text) - at + 1)
            pieces.append(self.quoted(text[at : at + size]))
            at += size
        return "".join(pieces) or self.random.choice(("''", '""'))

    def quoted(self, text: str) -> str:
        match self.random.randrange(3):
            case 0:
                return "'" + text.replace("'", "'\\''") + "'"
            case 1:
                return '"' + "".join(f"\\{char}" if char in '"\\$`' else char for char in text) + '"'
            case _ if text and "\n" not in text and text.isascii():
                return "".join(char if char.isalnum() or char in "-./_" else f"\\{char}" for char in text)
            case _:
                return "'" + text.replace("'", "'\\''") + "'"
