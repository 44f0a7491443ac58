"""Static analysis of the source of Python rules."""
