"""The public names of `bobcat.providers`. `__init__.py` reads their modules from this file."""

from bobcat.providers.database.provider import sql as sql
from bobcat.providers.filesystem.limits import FileLimits as FileLimits
from bobcat.providers.filesystem.tools import files as files
from bobcat.providers.mcp_servers import mcp as mcp
from bobcat.providers.process.containment import Containment as Containment
from bobcat.providers.process.containment import containment as containment
from bobcat.providers.process.limits import ProcessLimits as ProcessLimits
from bobcat.providers.process.tools import processes as processes
from bobcat.providers.web.provider import http as http
