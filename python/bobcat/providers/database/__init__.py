"""Databases: statements that are parsed, judged by their parts, and run in a session that refuses the rest."""
