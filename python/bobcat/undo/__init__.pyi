"""The public names of `bobcat.undo`. `__init__.py` reads their modules from this file."""

from bobcat.errors import UndoError as UndoError
from bobcat.undo.entry import UndoEntry as UndoEntry
from bobcat.undo.recovery import Recovered as Recovered
from bobcat.undo.undo import Undo as Undo
