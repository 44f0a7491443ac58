"""Ready-made shadows, under lynx-agent's path."""

from bobcat.shadows import delete_file_shadow, http_shadow, shell_shadow, sql_shadow, write_file_shadow

__all__ = ["delete_file_shadow", "http_shadow", "shell_shadow", "sql_shadow", "write_file_shadow"]
