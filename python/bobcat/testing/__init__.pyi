"""The public names of `bobcat.testing`. `__init__.py` reads their modules from this file."""

from bobcat.testing.contract import ContractReport as ContractReport
from bobcat.testing.contract import StoreContractError as StoreContractError
from bobcat.testing.contract import Violation as Violation
from bobcat.testing.contract import run_store_contract as run_store_contract
from bobcat.testing.decided import Decided as Decided
from bobcat.testing.decided import decide as decide
from bobcat.testing.dispatcher_contract import DispatcherContractError as DispatcherContractError
from bobcat.testing.dispatcher_contract import Engine as Engine
from bobcat.testing.dispatcher_contract import run_dispatcher_contract as run_dispatcher_contract
