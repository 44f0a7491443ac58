"""Parsing of YAML text to checked nodes with source positions."""
