"""Adapters that lynx-agent 2.11 added."""
