"""The public names of `bobcat.proposals`. `__init__.py` reads their modules from this file."""

from bobcat.proposals.extension import extended as extended
from bobcat.proposals.proposing import propose as propose
from bobcat.proposals.record import Proposal as Proposal
from bobcat.proposals.register import granted as granted
from bobcat.proposals.register import recorded as recorded
from bobcat.proposals.register import revoke as revoke
