"""Recorded decisions: read from logs and journals, decided again, and summed up.

`bobcat replay` and `bobcat usage` are its callers. `sources` yields chunks of lines, `formats` parses a line, `decider`
decides records again in batches, `changes` groups what differs, `pool` spreads chunks over processes. Nothing here
executes a tool, and a record that lacks what a policy reads is counted, never completed by a guess.
"""
