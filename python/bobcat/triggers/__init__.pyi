"""The public names of `bobcat.triggers`. `__init__.py` reads their modules from this file."""

from bobcat.errors import TriggerError as TriggerError
from bobcat.triggers.engine import WorkerTriggers as WorkerTriggers
from bobcat.triggers.model import Firing as Firing
from bobcat.triggers.model import Quotas as Quotas
from bobcat.triggers.model import Trigger as Trigger
from bobcat.triggers.triggers import Triggers as Triggers
