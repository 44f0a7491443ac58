"""Helpers for asyncio: cancellation and tasks."""
