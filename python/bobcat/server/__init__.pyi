"""The public names of `bobcat.server`. `__init__.py` reads their modules from this file."""

from bobcat.server.app import create_app as create_app
from bobcat.server.bundles import create_bundle_app as create_bundle_app
from bobcat.server.client import DecisionClient as DecisionClient
from bobcat.server.limits import Limits as Limits
