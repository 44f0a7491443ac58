"""The public names of `bobcat.stores`. `__init__.py` reads their modules from this file."""

from bobcat.stores.file import FileStore as FileStore
from bobcat.stores.memory import MemoryStore as MemoryStore
from bobcat.stores.postgres import PostgresStore as PostgresStore
from bobcat.stores.redis import RedisStore as RedisStore
from bobcat.stores.sqlite import SQLiteStore as SQLiteStore
