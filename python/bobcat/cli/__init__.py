"""The `bobcat` command: one module per command, each loaded only when it is called."""
