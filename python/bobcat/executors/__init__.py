"""Executors: place and isolation in which a permitted action runs. The mediator calls exactly one per action."""

from bobcat.executors.base import Executor
from bobcat.executors.inline import inline_executor
from bobcat.executors.route import route_executor
from bobcat.executors.subprocess import subprocess_executor

__all__ = ["Executor", "inline_executor", "route_executor", "subprocess_executor"]
