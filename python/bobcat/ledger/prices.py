"""Prices of models, as data with a date. A model without a price is an error, unless a default price is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date as Date
from types import MappingProxyType
from typing import Any

from bobcat.errors import LedgerError
from bobcat.ledger.amounts import Money, cost_of, micro_dollars, rounded_up, token_count
from bobcat.model.run import Usage

_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")
"""The date that vendors put behind the name of a model."""


@dataclass(frozen=True, slots=True, init=False)
class Price:
    """Price of a model in dollars for a million tokens; the attributes are micro-dollars for a million.

    Without a price of their own, tokens read from and written to the vendor's cache cost as much as `input`. Raises
    `LedgerError` (`bad_amount`) for an amount that is negative, infinite or NaN.
    """

    input: int
    output: int
    cache_read: int
    cache_write: int

    def __init__(
        self, input: Money, output: Money, *, cache_read: Money | None = None, cache_write: Money | None = None
    ) -> None:
        given = {"input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write}
        for name, value in given.items():
            chosen = input if value is None else value
            object.__setattr__(self, name, micro_dollars(chosen, f"the price of {name.replace('_', ' ')} tokens"))

    def worst(self, input_tokens: int, output_tokens: int) -> int:
        """Return the micro-dollars of a call whose input tokens are all of the dearest kind."""
        dearest = max(self.input, self.cache_read, self.cache_write)
        return rounded_up(cost_of(input_tokens, dearest) + cost_of(output_tokens, self.output))

    def cost(self, usage: Usage) -> int:
        """Return the micro-dollars of a reported usage. Raises `LedgerError` for an invalid count."""
        kinds = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        )
        return rounded_up(sum(cost_of(token_count(count or 0, "a usage"), price) for count, price in kinds))


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model, as of a date. `default` is the price of every other model; without it, those are an error.

    A model's name with a vendor's date behind it, such as `claude-sonnet-4-5-20250929`, has the price of the name
    without, unless it has one of its own.
    """

    models: Mapping[str, Price]
    date: Date
    default: Price | None = None

    @staticmethod
    def from_mapping(
        # Any: JSON or TOML; every value is checked.
        models: Mapping[str, Mapping[str, Any] | Price],
        *,
        date: Date | str,
        default: Price | Mapping[str, Any] | None = None,
    ) -> Prices:
        """Make prices from data: `{"MODEL": {"input": 3, "output": 15, "cache_read": "0.30"}}`, dollars for a million
        tokens.

        Raises `LedgerError`: `bad_prices` for another shape, `bad_amount` for an invalid amount.
        """
        if not isinstance(models, Mapping):
            raise LedgerError("bad_prices", f"prices must be a mapping of models, got {type(models).__name__}")
        found = {_name(name): _price(price, f"model `{name}`") for name, price in models.items()}
        fallback = None if default is None else _price(default, "the default")
        return Prices(MappingProxyType(found), _date(date), fallback)

    @staticmethod
    def stock() -> Prices:
        """Return the list prices of current Claude and OpenAI models that this release knows. Compare the date."""
        return Prices.from_mapping(STOCK, date=STOCK_DATE)

    def of(self, model: str) -> Price:
        """Return the price of a model. Raises `LedgerError` (`unknown_model`)."""
        found = self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model)) or self.default
        if found is None:
            raise LedgerError(
                "unknown_model",
                f"no price of model `{model}` in the prices of {self.date}; add it, or give a default price",
            )
        return found


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise LedgerError("bad_prices", f"the name of a model must be a text, got {name!r}")
    return name


def _price(given: object, of: str) -> Price:
    if isinstance(given, Price):
        return given
    if not isinstance(given, Mapping):
        raise LedgerError("bad_prices", f"the price of {of} must be a mapping, got {type(given).__name__}")
    unknown = sorted(str(name) for name in set(given) - {"input", "output", "cache_read", "cache_write"})
    missing = [name for name in ("input", "output") if name not in given]
    if unknown or missing:
        problem = f"has no `{missing[0]}`" if missing else f"has an unknown part `{unknown[0]}`"
        raise LedgerError("bad_prices", f"the price of {of} {problem}; write input, output, cache_read, cache_write")
    return Price(**given)


def _date(given: Date | str) -> Date:
    try:
        return given if isinstance(given, Date) else Date.fromisoformat(given)
    except (TypeError, ValueError):
        raise LedgerError("bad_prices", f"date must be a date such as 2026-11-01, got {given!r}") from None


STOCK_DATE = "2026-10-24"
STOCK: Mapping[str, Mapping[str, Money]] = {
    "claude-fable-5-1": {"input": 10, "output": 50, "cache_read": "0.25", "cache_write": "12.50"},
    "claude-mythos-5-1": {"input": 10, "output": 50, "cache_read": "0.25", "cache_write": "12.50"},
    "claude-fable-5": {"input": 10, "output": 50, "cache_read": 1, "cache_write": "12.50"},
    "claude-mythos-5": {"input": 10, "output": 50, "cache_read": 1, "cache_write": "12.50"},
    "claude-opus-5-5": {"input": 4, "output": 20, "cache_read": "0.20", "cache_write": 5},
    "claude-opus-5": {"input": 5, "output": 25, "cache_read": "0.50", "cache_write": "6.25"},
    "claude-opus-4-8": {"input": 5, "output": 25, "cache_read": "0.50", "cache_write": "6.25"},
    "claude-opus-4-7": {"input": 5, "output": 25, "cache_read": "0.50", "cache_write": "6.25"},
    "claude-opus-4-6": {"input": 5, "output": 25, "cache_read": "0.50", "cache_write": "6.25"},
    "claude-opus-4-5": {"input": 5, "output": 25, "cache_read": "0.50", "cache_write": "6.25"},
    "claude-sonnet-5-5": {"input": 2, "output": 10, "cache_read": "0.10", "cache_write": "2.50"},
    "claude-sonnet-5": {"input": 2, "output": 10, "cache_read": "0.20", "cache_write": "2.50"},
    "claude-sonnet-4-6": {"input": 3, "output": 15, "cache_read": "0.30", "cache_write": "3.75"},
    "claude-sonnet-4-5": {"input": 3, "output": 15, "cache_read": "0.30", "cache_write": "3.75"},
    "claude-haiku-5-5": {"input": "0.50", "output": "2.50", "cache_read": "0.05", "cache_write": "0.625"},
    "claude-haiku-4-5": {"input": 1, "output": 5, "cache_read": "0.10", "cache_write": "1.25"},
    "gpt-6-astra": {"input": 20, "output": 75, "cache_read": 2, "cache_write": 25},
    "gpt-6-sol": {"input": 4, "output": 15, "cache_read": "0.40", "cache_write": 5},
    "gpt-6-luna": {"input": "0.20", "output": "0.75", "cache_read": "0.02", "cache_write": "0.25"},
    "gpt-5.4": {"input": 5, "output": "22.50", "cache_read": "0.50"},
    "gpt-5.4-mini": {"input": "0.75", "output": "4.50", "cache_read": "0.075"},
    "gpt-5": {"input": "1.25", "output": 10, "cache_read": "0.125"},
    "gpt-5-mini": {"input": "0.25", "output": 2, "cache_read": "0.025"},
    "gpt-5-nano": {"input": "0.05", "output": "0.40", "cache_read": "0.005"},
    "gpt-4.1": {"input": 2, "output": 8, "cache_read": "0.50"},
    "gpt-4.1-mini": {"input": "0.40", "output": "1.60", "cache_read": "0.10"},
}
"""List prices without discounts. A model that costs more for long prompts has the higher price: caps must hold."""
