"""The public names of `bobcat.ledger`. `__init__.py` reads their modules from this file."""

from bobcat.errors import LedgerError as LedgerError
from bobcat.ledger.caps import Cap as Cap
from bobcat.ledger.ledger import Ledger as Ledger
from bobcat.ledger.ledger import LedgerAccount as LedgerAccount
from bobcat.ledger.prices import Price as Price
from bobcat.ledger.prices import Prices as Prices
from bobcat.ledger.rows import Balance as Balance
from bobcat.ledger.rows import Reservation as Reservation
from bobcat.ledger.rows import Spending as Spending
