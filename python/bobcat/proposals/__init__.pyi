"""The public names of `bobcat.proposals`. `__init__.py` reads their modules from this file."""

from bobcat.proposals.extension import extended as extended
from bobcat.proposals.proposing import granted as granted
from bobcat.proposals.proposing import propose as propose
from bobcat.proposals.record import Proposal as Proposal
