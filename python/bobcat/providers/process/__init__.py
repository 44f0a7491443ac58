"""Programs without a shell. `tools` is the provider; `server`, `supervise` and `start` run in helper processes.

    tool call -> client --socket--> server --fork--> supervisor --fork--> program

One server per provider forks a supervisor per call. The supervisor adopts every process that its program leaves behind,
and ends when none is left. This file imports nothing: the server loads few modules, so that its forks are cheap.
"""
