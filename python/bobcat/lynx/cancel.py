"""The kill switch, under lynx-agent's path."""

from bobcat.aio.cancel import Cancelled, CancelToken

__all__ = ["CancelToken", "Cancelled"]
