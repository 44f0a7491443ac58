"""Amounts: integer micro-dollars and whole tokens. Nothing here rounds down, and no sum is a float."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from bobcat.errors import LedgerError

MICRO = 1_000_000
"""Micro-dollars of a dollar, and the tokens that a price is for."""
MAX_AMOUNT = 10**15
"""Largest amount: a billion dollars, or 10^15 tokens. Sums of thousands of them fit into 64 bits."""

Money = int | str | Decimal | float


def micro_dollars(value: object, name: str) -> int:
    """Convert dollars to micro-dollars, exactly. A float counts as its shortest decimal text: 0.1 is ten cents.

    Raises `LedgerError` (`bad_amount`) for what is negative, infinite, NaN, finer than a micro-dollar, or no number.
    """
    if isinstance(value, bool) or not isinstance(value, Money):
        raise bad_amount(name, value, "an amount in dollars, such as 10 or '0.25'")
    try:
        exact = Decimal(str(value))
    except InvalidOperation:
        raise bad_amount(name, value, "an amount in dollars, such as 10 or '0.25'") from None
    if not exact.is_finite() or exact < 0:
        raise bad_amount(name, value, "a finite amount that is not negative")
    if exact > MAX_AMOUNT // MICRO:
        raise bad_amount(name, value, f"at most {MAX_AMOUNT // MICRO:,} dollars")
    micro = exact * MICRO
    if micro != int(micro):
        raise bad_amount(name, value, "a whole number of micro-dollars (six decimals)")
    return int(micro)


def token_count(value: object, name: str) -> int:
    """Check a number of tokens. Raises `LedgerError` (`bad_amount`)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad_amount(name, value, "a whole number of tokens")
    if not 0 <= value <= MAX_AMOUNT:
        raise bad_amount(name, value, f"from 0 to {MAX_AMOUNT:,} tokens")
    return value


def cost_of(tokens: int, price: int) -> int:
    """Return the cost of tokens, times 10^6 micro-dollars: `price` is for a million of them."""
    return tokens * price


def rounded_up(scaled: int) -> int:
    """Return a scaled cost in micro-dollars, rounded up."""
    return -(-scaled // MICRO)


def dollars(micro: int) -> str:
    """Format micro-dollars: `$1.50`, and as many decimals as the amount has."""
    whole, part = divmod(abs(micro), MICRO)
    decimals = f"{part:06d}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}${whole:,}.{decimals}"


def amount_text(unit: str, value: int) -> str:
    """Format an amount of a unit, `usd` or `tokens`."""
    return dollars(value) if unit == "usd" else f"{value:,} tokens"


def bad_amount(name: str, value: object, expected: str) -> LedgerError:
    """Return the error for an invalid amount."""
    shown = repr(value) if isinstance(value, int | float | str | Decimal) else type(value).__name__
    return LedgerError("bad_amount", f"{name} must be {expected}, got {shown[:60]}")
