"""Doors of agent frameworks: each puts a `Guard` in front of the framework's own tool calls.

Every module needs its framework, as the extra of its name installs it. `docs/how-to/guard-a-framework.md` lists them.
"""
