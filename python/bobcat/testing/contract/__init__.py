"""The contract of stores as a test suite: one clause per guarantee, run on a user's store."""

from bobcat.testing.contract.report import ContractReport, StoreContractError, Violation
from bobcat.testing.contract.suite import run_store_contract

__all__ = ["ContractReport", "StoreContractError", "Violation", "run_store_contract"]
