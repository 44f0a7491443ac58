"""The public names of `bobcat.guard`. `__init__.py` reads their modules from this file."""

from bobcat.guard.guard import Guard as Guard
from bobcat.guard.outcome import Outcome as Outcome
from bobcat.guard.outcome import Status as Status
