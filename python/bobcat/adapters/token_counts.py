"""Token counts as providers report them: valid numbers, or None.

The run loop fails a run whose agent reports invalid usage. An invalid value in the response of a provider or an
imitation is not the agent's fault, so it is ignored here.
"""

from __future__ import annotations

from bobcat.model.run import Usage


def count(value: object) -> int | None:
    """A reported number of tokens; None for an invalid one."""
    return value if type(value) is int and value >= 0 else None


def counts(reported: object, *names: str) -> list[int | None]:
    """The numbers of tokens under some names of a provider's report."""
    return [count(getattr(reported, name, None)) for name in names]


def without_cached(total: object, *cached: int | None) -> int | None:
    """The input tokens of a provider whose total includes the cached ones."""
    reported = count(total)
    return None if reported is None else max(0, reported - sum(part or 0 for part in cached))


def together(left: Usage | None, right: Usage | None) -> Usage | None:
    """The usage of two model replies. A count that is missing in both stays None."""
    if left is None or right is None:
        return left or right
    return Usage(
        _add(left.input_tokens, right.input_tokens),
        _add(left.output_tokens, right.output_tokens),
        _add(left.cache_read_tokens, right.cache_read_tokens),
        _add(left.cache_write_tokens, right.cache_write_tokens),
        left.model or right.model,
    )


def _add(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)
