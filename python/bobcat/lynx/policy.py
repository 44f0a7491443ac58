"""Policies, under lynx-agent's path."""

from bobcat.lynx.core.policy import *  # noqa: F403
from bobcat.lynx.core.policy import __all__ as __all__
