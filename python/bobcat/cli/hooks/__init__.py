"""Hooks of coding agents: the Python gate, and the settings of the hosts."""
