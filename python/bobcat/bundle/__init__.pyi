"""The public names of `bobcat.bundle`. `__init__.py` reads their modules from this file."""

from bobcat.bundle.current import PolicyHolder as PolicyHolder
from bobcat.bundle.load import is_bundle as is_bundle
from bobcat.bundle.load import load_bundle as load_bundle
from bobcat.bundle.model import Policy as Policy
from bobcat.bundle.model import PolicyBundle as PolicyBundle
from bobcat.bundle.model import PolicyLayer as PolicyLayer
from bobcat.bundle.views import PolicyDefaults as PolicyDefaults
from bobcat.bundle.views import RuleView as RuleView
