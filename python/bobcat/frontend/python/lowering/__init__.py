"""Lowering of Python rules to IR functions."""
