"""Journals in Redis, for runs on many machines. Needs `pip install 'bobcat[redis]'`, and a server with durable writes:

appendonly yes
appendfsync always
maxmemory-policy noeviction
"""

from bobcat.stores.redis.store import RedisStore

__all__ = ["RedisStore"]
