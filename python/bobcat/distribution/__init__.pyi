"""The public names of `bobcat.distribution`. `__init__.py` reads their modules from this file."""

from bobcat.distribution.http_source import HttpSource as HttpSource
from bobcat.distribution.publishing import publish as publish
from bobcat.distribution.publishing import pull as pull
from bobcat.distribution.release import Release as Release
from bobcat.distribution.release import sign_release as sign_release
from bobcat.distribution.reloading import ReloadingPolicy as ReloadingPolicy
from bobcat.distribution.source import BundleSource as BundleSource
from bobcat.distribution.source import FileSource as FileSource
from bobcat.distribution.status import PolicyStatus as PolicyStatus
