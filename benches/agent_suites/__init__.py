"""Suites of tasks and attacks for `benches/agent_tasks.py`."""
