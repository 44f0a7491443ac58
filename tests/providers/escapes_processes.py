"""Calls of `proc.run` that must have no effect outside, and look-alikes that must run.

Texts contain WS for the directory of programs, OUT for a directory outside with a file `secret`, PARENT for the number
of the calling process, PORT for a local server's port. Whatever appears below OUT, or shows SECRET, is an escape.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SECRET = "s3cret-of-the-parent"
ALL = "rules: [{id: all, match: {tool: proc.run}, decision: allow}]"
CAREFUL = """
rules:
  - id: git
    match: {tool: proc.run, args.program: git, args.argv.first.in: [init, status, log, diff, --version]}
    decision: allow
  - id: tar
    match: {tool: proc.run, args.program: tar, args.argv.first.in: [-cf, -tf, -xf]}
    decision: allow
  - id: others
    match: {tool: proc.run, args.program.in: [echo, find, ls, cat]}
    decision: allow
  - id: options-that-run-programs-or-write-files
    match:
      tool: proc.run
      args.argv.any.matches: >-
        ^(-exec|-ok|-delete|-fprint|-fls|--checkpoint-action|--to-command|--use-compress|-I|--rsh-command|--ext-diff|--output)
    decision: deny
    priority: 10
"""


@dataclass(frozen=True)
class Row:
    """A call. `says` is part of the output or the error; a `contained` row needs bwrap or Landlock."""

    name: str
    program: str
    argv: list[str] = field(default_factory=list)
    says: str = ""
    status: str = "ok"
    code: int | None = None
    signal: str | None = None
    policy: str = ALL
    stdin: str = ""
    options: dict[str, Any] = field(default_factory=dict)  # Any: arguments of `processes`
    args: dict[str, Any] = field(default_factory=dict)  # Any: JSON
    contained: bool = False


def sh(name: str, script: str, says: str = "", **more: Any) -> Row:  # Any: fields of a row
    """A row that runs a script: a program that was permitted and turns out to be hostile."""
    return Row(name, "sh", ["-c", script], says, **more)


def refused(name: str, program: str, argv: list[str], says: str, **more: Any) -> Row:  # Any: as above
    """A row that starts no program."""
    return Row(name, program, argv, says, "failed", **more)


def denied(name: str, program: str, argv: list[str]) -> Row:
    """A row that the policy denies."""
    return Row(name, program, argv, status="denied", policy=CAREFUL)


T = "touch OUT/owned"
READ = {"effects": ["read"]}
SHORT = {"timeout_seconds": 0.2}
ESCAPES = [
    # an argument stays one argument
    Row("a semicolon", "echo", [f"x; {T}"], f"x; {T}\n"),
    Row("a command substitution", "echo", [f"$({T})"], f"$({T})\n"),
    Row("backquotes", "echo", [f"`{T}`"], f"`{T}`\n"),
    Row("a pipe", "echo", ["x", "|", "tee", "OUT/owned"], "x | tee OUT/owned\n"),
    Row("a redirection", "echo", ["x", ">", "OUT/owned"], "x > OUT/owned\n"),
    Row("a newline", "echo", [f"x\n{T}"], f"x\n{T}\n"),
    Row("variables", "echo", ["$PATH", "${HOME}"], "$PATH ${HOME}\n"),
    Row("a pattern", "echo", ["OUT/*"], "OUT/*\n"),
    # only the programs that were named, with arguments that they can get
    refused("another program", "touch", ["OUT/owned"], "not a program of this tool"),
    refused("a path as the program", "/usr/bin/touch", ["OUT/owned"], "not a program of this tool"),
    refused("a path to a known name", "../../usr/bin/sh", ["-c", T], "not a program of this tool"),
    refused("a command line as the program", f"sh -c '{T}'", [], "not a program of this tool"),
    refused("a program with NUL", "sh\0x", ["-c", T], "not a program of this tool"),
    refused("an argument with NUL", "echo", ["x\0", T], "NUL"),
    refused("many arguments", "echo", ["x"] * 60_000, "at most 100000 are passed on"),
    refused("a long argument", "echo", ["x" * 200_000], "at most 100000 are passed on"),
    refused("much input", "cat", [], "at most 1000000 are passed on", stdin="x" * 1_000_001),
    refused("no time", "sh", ["-c", T], "timeout_seconds must be above 0", args={"timeout_seconds": 0}),
    # options that run programs and write files, by policy
    denied("git with an alias", "git", ["-c", f"alias.x=!{T}", "x"]),
    denied("git with a pager", "git", ["-c", f"core.pager={T}", "-p", "log"]),
    denied("git elsewhere", "git", ["-C", "OUT", "init"]),
    denied("git with a helper", "git", ["diff", "--ext-diff"]),
    denied("git that writes", "git", ["diff", "--output=OUT/owned"]),
    denied("tar with an action", "tar", ["-cf", "x.tar", "a.txt", "--checkpoint=1", f"--checkpoint-action=exec={T}"]),
    denied("tar with a command", "tar", ["-xf", "x.tar", f"--to-command={T}"]),
    denied("tar with a filter", "tar", ["-cf", "x.tar", "a.txt", f"-Ish -c '{T}'"]),
    denied("find that runs", "find", [".", "-exec", "touch", "OUT/owned", ";"]),
    denied("find that writes", "find", [".", "-fprintf", "OUT/owned", "x"]),
    # options that run programs and write files, by the packs of the provider
    refused("git with an alias, by its effect", "git", ["-c", f"alias.x=!{T}", "x"], "not known", options=READ),
    refused("git with a pager, by its effect", "git", ["-c", f"core.pager={T}", "log"], "not known", options=READ),
    refused("git with a helper, by its effect", "git", ["diff", "--ext-diff"], "are run;", options=READ),
    refused("git that writes, by its effect", "git", ["diff", "--output=OUT/owned"], "are write;", options=READ),
    refused("git that commits", "git", ["commit", "--allow-empty", "-m", "x"], "run, write", options=READ),
    refused("tar with an action, by its effect", "tar", ["-cf", "x", "a.txt", f"--checkpoint-action=exec={T}"],
            "not known", options=READ),
    refused("tar that extracts", "tar", ["-xf", "old.tar", "-C", "OUT"], "are write;", options=READ),
    refused("tar that extracts, without a dash", "tar", ["xf", "old.tar", "-C", "OUT"], "are write;", options=READ),
    refused("tar that creates, without a dash", "tar", ["cvzf", "OUT/owned", "a.txt"], "are write;", options=READ),
    refused("tar with another host", "tar", ["tf", "host:x"], "not known", options=READ),
    refused("git with a hidden verb", "git", ["submodule", "-q", "foreach", T], "not known", options=READ),
    refused("git that changes a setting", "git", ["config", "a.b", "--get"], "are write;", options=READ),
    refused("git that edits settings", "git", ["config", "-e"], "run, write", options=READ),
    refused("find that writes, by its effect", "find", [".", "-fprint", "OUT/owned"], "are write;", options=READ),
    refused("a login shell", "sh", ["-lc", "echo x"], "not known", options=READ),
    refused("find that runs, by its effect", "find", [".", "-exec", "touch", "OUT/owned", ";"], "would start `touch`",
            options=READ),
    refused("find that deletes", "find", ["OUT", "-delete"], "are write;", options=READ),
    refused("a script in an argument", "sh", ["-c", T], "would start `touch`", options=READ),
    refused("a script in the input", "sh", [], "not known", options=READ, stdin=T),
    refused("a program of env", "env", ["touch", "OUT/owned"], "would start `touch`", options=READ),
    # what programs inherit
    sh("secrets in the environment", "env; tr '\\0' '\\n' </proc/self/environ", "HOME=/nonexistent\n"),
    sh("the loader's variables", 'echo "[$LD_PRELOAD$LD_LIBRARY_PATH$PYTHONPATH$BASH_ENV$ENV]"', "[]\n"),
    sh("a program on the parent's PATH", "command -v git", "bin/git\n"),
    Row("git settings in the directory", "git", ["planted"], "not a git command", code=1),
    sh("descriptors", "for n in 3 4 5 6 7 8 9; do cat <&$n; done 2>&1; ls /proc/self/fd", "3"),
    sh("the terminal", "echo x >/dev/tty", "/dev/tty", code=2),
    sh("set-user-ID", "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t1\n"),
    # the end of all processes
    sh("a daemon in a session", f"setsid sh -c 'sleep 0.5; {T}' & echo left", "left\n"),
    sh("a double fork", f"(setsid sh -c '(sleep 0.5; {T}) &' &); echo left", "left\n"),
    sh("a daemon that ignores signals", f"(trap '' TERM HUP INT; sleep 0.5; {T}) & echo left", "left\n"),
    sh("a grandchild with the pipes", "sleep 60 & echo left", "left\n"),
    sh("SIGTERM ignored", f"trap '' TERM; sleep 5; {T}", "within 0.2 seconds", signal="SIGKILL", args=SHORT),
    sh("stopped", f"kill -STOP $$; {T}", "within 0.2 seconds", signal="SIGKILL", args=SHORT),
    sh("a longer timeout", f"sleep 5; {T}", "within 0.2 seconds", signal="SIGTERM", options=SHORT,
       args={"timeout_seconds": 900.0}),
    sh("the supervisor killed", f"kill -9 $PPID; sleep 0.5; {T}", "supervisor", status="failed",
       options={"isolation": "none"}),
    # caps
    sh("a flood", "while :; do echo xxxxxxxxxxxxxxx; done", "wrote more than 100000 bytes", signal="SIGKILL",
       options={"max_output_bytes": 100_000}),
    sh("a flood of errors", "cat /dev/zero >&2", "wrote more than 1000000 bytes", signal="SIGKILL"),
    sh("input that does not end", "cat; read line; echo end", "end\n"),
    sh("a large file", "head -c 5000000 /dev/zero >big; wc -c <big", "100000\n",
       options={"limits": {"file_bytes": 100_000}}),
    sh("computing", "while :; do :; done", signal="SIGXCPU", options={"limits": {"cpu_seconds": 1}}),
    sh("much memory", "dd if=/dev/zero of=/dev/null bs=900M count=1", "memory", code=1,
       options={"limits": {"memory_bytes": 300_000_000}}),
    sh("many files", "for n in 3 4 5 6 7 8 9; do eval \"exec $n</dev/null\" || exit 7; done", code=2,
       options={"limits": {"open_files": 6}}),
    # containment
    sh("a file outside", "cat OUT/secret", code=1, contained=True),
    sh("a write outside", T, code=1, contained=True),
    sh("a link to the outside", "ln -s OUT link; cat link/secret; touch link/owned", code=1, contained=True),
    sh("a hard link", "ln OUT/secret copy; cat copy", code=1, contained=True),
    sh("the root of a process", "cat /proc/PARENT/root/OUT/secret", code=1, contained=True),
    sh("the parent's environment", "tr '\\0' '\\n' </proc/PARENT/environ", contained=True),
    sh("the parent's memory", ": </proc/PARENT/mem", code=2, contained=True),
    sh("a signal to the parent", "kill -0 PARENT", code=1, contained=True),
    sh("the supervisor killed inside", "kill -9 $PPID; echo alive", "alive", contained=True),
    sh("a local server", "exec bash -c 'echo x >/dev/tcp/127.0.0.1/PORT'", code=1, contained=True),
    sh("a device", "mknod zero c 1 5", code=1, contained=True),
    sh("the system", "touch /usr/owned || touch /etc/owned || touch /owned", code=1, contained=True),
    sh("the passwords", "cat /etc/shadow", code=1, contained=True),
]  # fmt: skip

AUTHOR = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
ALL_EFFECTS = {"effects": ["read", "write", "run"]}
LOOK_ALIKES = [
    Row("words", "echo", ["hello", "world"], "hello world\n"),
    Row("quotes", "echo", ["it's", '"x"', "\\"], "it's \"x\" \\\n"),
    Row("an empty argument", "printf", ["[%s]", "", "a"], "[][a]"),
    Row("spaces", "cat", ["a b.txt"], "spaces\n"),
    Row("beyond ASCII", "cat", ["ä.txt"], "ü\n"),
    Row("an argument like an option", "cat", ["--", "-c"], "dashes\n"),
    Row("a long list", "printf", ["%s", *["x"] * 20_000], "x" * 20_000),
    Row("input", "cat", [], "first\nsecond\n", stdin="first\nsecond\n"),
    Row("much input", "wc", ["-c"], "1000000\n", stdin="x" * 1_000_000),
    Row("no input", "cat", []),
    Row("a failure", "false", code=1),
    sh("an exit code", "exit 42", code=42),
    sh("a signal of its own", "kill -SEGV $$", signal="SIGSEGV"),
    sh("errors", "echo out; echo err >&2", "err\n"),
    sh("much output", "head -c 999000 /dev/zero | tr '\\0' x", "x" * 999_000),
    sh("a pipeline in a script", "printf 'b\\na\\n' | sort | head -1", "a\n"),
    sh("children", "for n in 1 2 3 4 5 6; do (echo $n) & done; wait", "6\n"),
    sh("a background process that ends", "(sleep 0.05; echo late) & wait", "late\n"),
    sh("the time that it needs", "sleep 0.1; echo done", "done\n", args={"timeout_seconds": 30}),
    sh("the directory", "pwd", "WS\n"),
    sh("a write inside", "echo new >new.txt && cat new.txt && rm new.txt", "new\n"),
    sh("a directory inside", "mkdir -p d/e && touch d/e/f && ls d/e && rm -r d", "f\n"),
    sh("a link inside", "ln -sf a.txt inside && cat inside && rm inside", "text\n"),
    sh("null", "echo x >/dev/null && echo ok", "ok\n"),
    sh("random", "head -c 8 /dev/urandom | wc -c", "8\n"),
    sh("the variable that is set", 'echo "$GREETING"', "hello there\n",
       options={"set_env": {"GREETING": "hello there"}}),
    sh("the variable that is named", 'echo "$BOBCAT_PUBLIC"', "public\n", options={"env": ("BOBCAT_PUBLIC",)}),
    sh("SIGPIPE", "yes | head -1", "y\n"),
    sh("its name", 'echo "$0"', "sh\n"),
    Row("a script", "hello", ["a b", "c"], "hello a b-c\n"),
    Row("a script by env", "greet", ["a"], "greet a\n"),
    Row("a link with its name", "also-printf", ["%s", "x"], "x"),
    Row("git", "git", ["--version"], "git version", policy=CAREFUL),
    Row("git status", "git", ["status", "--short"], "a.txt", policy=CAREFUL),
    Row("git log", "git", ["log", "--oneline"], "first commit", policy=CAREFUL),
    Row("tar", "tar", ["-cf", "x.tar", "a.txt"], policy=CAREFUL),
    Row("tar lists", "tar", ["-tf", "old.tar"], "a.txt\n", policy=CAREFUL),
    Row("find", "find", [".", "-name", "a.*"], "./a.txt\n", policy=CAREFUL),
    Row("git status, by its effect", "git", ["status", "--short"], "a.txt", options=READ),
    Row("git log, by its effect", "git", ["log", "--format=%s $(id)"], "first commit $(id)\n", options=READ),
    Row("tar lists, by its effect", "tar", ["-tf", "old.tar"], "a.txt\n", options=READ),
    Row("tar lists, without a dash", "tar", ["tf", "old.tar"], "a.txt\n", options=READ),
    Row("git reads a setting", "git", ["config", "--get", "core.bare"], "false\n", options=READ),
    Row("git lists branches", "git", ["branch", "--list", "m*"], "", options=READ),
    Row("find, by its effect", "find", [".", "-name", "a.*"], "./a.txt\n", options=READ),
    Row("echo of commands", "echo", [T, ";", "`id`", "it's"], "; `id` it's\n", options=READ),
    Row("find that shows", "find", [".", "-name", "a.txt", "-exec", "cat", "{}", ";"], "text\n", options=READ),
    Row("a script of known programs", "sh", ["-c", "echo x | cat"], "x\n", options=READ),
    Row("git commits, permitted", "git", [*AUTHOR, "commit", "--allow-empty", "-m", "x"], "x", options=ALL_EFFECTS),
    Row("echo of an option", "echo", ["--checkpoint"], "--checkpoint\n", policy=CAREFUL),
    sh("its own signals", "sleep 9 & kill $! && wait $! || echo $?", "143\n"),
    sh("processes under the limit", "for n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait; echo ok", "ok\n"),
    sh("system files", "head -1 /etc/passwd", "root"),
    sh("its status", "grep -c Pid /proc/self/status", "3"),
    sh("a readable directory", "cat OUT/public/file", "for all\n",
       options={"readable": ("OUT/public",)}, contained=True),
    sh("a writable directory", "echo x >OUT/shared/file && cat OUT/shared/file", "x\n",
       options={"writable": ("OUT/shared",)}, contained=True),
    sh("a local server with the network", "exec bash -c 'echo x >/dev/tcp/127.0.0.1/PORT && echo sent'", "sent\n",
       options={"network": True}, contained=True),
]  # fmt: skip
