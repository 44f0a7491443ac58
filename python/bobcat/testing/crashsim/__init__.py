"""Crash simulation: kills a run at every await and at every pair of them, and races it with a second worker.

    from bobcat.testing import crashsim

    def payments(stage: crashsim.Stage) -> crashsim.Scenario:
        @tool(effect="keyed")
        async def pay(invoice: str, idempotency_key: str) -> str:
            stage.world.happen("pay", invoice, once=idempotency_key)
            return "paid"

        return crashsim.Scenario(task="pay", agent=Payer, tools=ToolSet.from_functions(pay), policy=POLICY,
                                 store=MemoryStore(clock=stage.clock))

    def test_a_crash_pays_nothing_twice():
        crashsim.campaign(payments, kills=2, workers=2).check()

Time is simulated and nothing else runs, so every run can be replayed: `crashsim.replay(payments, "kill@12+7")`.
"""

from bobcat.testing.crashsim.campaign import Replay, campaign, replay
from bobcat.testing.crashsim.clock import Clock
from bobcat.testing.crashsim.errors import SimulationError
from bobcat.testing.crashsim.loop import point
from bobcat.testing.crashsim.progress import Progress
from bobcat.testing.crashsim.report import CrashSimError, Report, Tally
from bobcat.testing.crashsim.scenario import Scenario, Stage, Worker
from bobcat.testing.crashsim.submissions import submission
from bobcat.testing.crashsim.verdict import Row
from bobcat.testing.crashsim.world import Effect, World

__all__ = [
    "Clock",
    "CrashSimError",
    "Effect",
    "Progress",
    "Replay",
    "Report",
    "Row",
    "Scenario",
    "SimulationError",
    "Stage",
    "Tally",
    "Worker",
    "World",
    "campaign",
    "point",
    "replay",
    "submission",
]
