"""Ready-made shadows: previews of dangerous calls by static analysis. A shadow runs, opens and sends nothing.

@tool(reversible=False, scope=("shell",))
async def shell(cmd: str) -> str: ...

shell.shadow(shell_shadow)
"""

from bobcat.shadows.filesystem import delete_file_shadow, write_file_shadow
from bobcat.shadows.http import http_shadow
from bobcat.shadows.shell import shell_shadow
from bobcat.shadows.sql import sql_shadow

__all__ = ["delete_file_shadow", "http_shadow", "shell_shadow", "sql_shadow", "write_file_shadow"]
