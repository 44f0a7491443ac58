"""The journal of a run: records, index, keys and views."""
