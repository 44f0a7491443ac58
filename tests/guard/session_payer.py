"""A process that submits payments in one session. For `test_session_memory`.

session_payer.py STORE SESSION COUNT
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bobcat import Guard, tool
from guard.session_policies import CAPPED


@tool()
async def pay(amount: int) -> str:
    await asyncio.sleep(0.001)
    return "paid"


async def main(store: str, session: str, count: int) -> None:
    async with Guard(CAPPED, [pay], store=store, session=session) as guard:
        outcomes = await asyncio.gather(*(guard.submit("pay", {"amount": 1}) for _ in range(count)))
    print(*(outcome.status for outcome in outcomes), sep="\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
