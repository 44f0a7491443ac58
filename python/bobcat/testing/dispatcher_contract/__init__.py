"""The contract of dispatchers as a test suite: one clause per guarantee, run on a user's engine."""

from bobcat.testing.dispatcher_contract.subject import Engine
from bobcat.testing.dispatcher_contract.suite import DispatcherContractError, run_dispatcher_contract

__all__ = ["DispatcherContractError", "Engine", "run_dispatcher_contract"]
