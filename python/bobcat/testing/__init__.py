"""What users test their own parts with.

from bobcat.testing import run_store_contract

def test_my_store_keeps_the_contract():
    asyncio.run(run_store_contract(lambda: MyStore(...)))

`bobcat.testing.crashsim` kills runs of theirs at every point.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bobcat.testing.contract import ContractReport, StoreContractError, Violation, run_store_contract

__all__ = ["ContractReport", "StoreContractError", "Violation", "run_store_contract"]

_HOMES = dict.fromkeys(
    ("ContractReport", "StoreContractError", "Violation", "run_store_contract"), "bobcat.testing.contract"
)


def __getattr__(name: str) -> Any:  # Any: type checkers see the imports above
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
