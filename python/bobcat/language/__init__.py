"""Vocabulary of the policy language: one row for each operator (`operators`) and for each path (`paths`)."""
