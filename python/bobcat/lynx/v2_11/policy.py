"""Policies, under lynx-agent's path."""

from bobcat.lynx.v2_11.core.policy import *  # noqa: F403
from bobcat.lynx.v2_11.core.policy import __all__ as __all__
