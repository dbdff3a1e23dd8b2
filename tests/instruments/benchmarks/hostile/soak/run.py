"""The soak: alternating calm and attacked windows on one broker with its page."""

import asyncio
import gc
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.instruments.benchmarks.hostile.attack import Attack
from tests.instruments.benchmarks.hostile.attackers import ATTACKS, CONTROL
from tests.instruments.benchmarks.hostile.besieged import BesiegedBroker, besieged
from tests.instruments.benchmarks.hostile.figures import growth_of, percentiles_of
from tests.instruments.benchmarks.hostile.memory import Allowance, allowed_bytes
from tests.instruments.benchmarks.hostile.siege import Attacker, attacker
from tests.instruments.benchmarks.hostile.soak.clients import Crowd
from tests.instruments.benchmarks.hostile.soak.verdict import Soak

KINDS: Final[tuple[type[Attack], ...]] = tuple(each for each in ATTACKS if each is not CONTROL)

FLAPPING: Final = """\
[flapping]
enable = true
max_count = 40
ban_time = "5s"
"""
"""Without these settings a takeover storm would not reach a limit."""

LAST_CHARACTERS: Final = 600


@dataclass(frozen=True)
class Plan:
    """The length of the windows in seconds, and the load in them."""

    window: float = 20.0
    settle: float = 8.0
    """The time before each calm window, in which sessions, handshakes and bans expire."""
    rounds: int = 10
    """The number of attacked windows. There is one more calm window."""
    rate: float = 30.0
    """Messages per second of each of the three publishers."""
    share: float = 0.03
    """The fraction of each attack's rate in `make hostile`, where it runs alone."""
    gives_way: bool = True
    """The attackers only get idle processor time. This does not work next to other tests."""


async def soak(
    code: Path,
    directory: Path,
    plan: Plan,
    report: Callable[[str], None],
    kinds: Sequence[type[Attack]] = KINDS,
) -> Soak:
    """Run the soak and return its measurements. `report` receives the progress.

    Raises BenchmarkFailed if nothing can be measured.
    """
    data_directory = Path(tempfile.mkdtemp(dir=directory))
    try:
        with besieged(code, data_directory / "data", more=FLAPPING) as broker:
            return await _Soaking(broker, plan, report, kinds).run()
    finally:
        shutil.rmtree(data_directory, ignore_errors=True)


class _Soaking:
    def __init__(
        self,
        broker: BesiegedBroker,
        plan: Plan,
        report: Callable[[str], None],
        kinds: Sequence[type[Attack]],
    ) -> None:
        self._broker = broker
        self._plan = plan
        self._kinds = kinds
        self._report = report
        self._crowd = Crowd(broker.target, broker.site, plan.rate, lambda: broker.is_running)
        self._soak = Soak(allowed_bytes=allowed_bytes(together(kinds)))

    async def run(self) -> Soak:
        began = time.monotonic()
        found, plan = self._soak, self._plan
        gc.disable()  # in this process, which measures the latencies
        try:
            await self._crowd.begin()
            async with attacker(
                self._kinds,
                plan.window,
                self._broker.target,
                gives_way=plan.gives_way,
                share=plan.share,
            ) as hostile:
                for number in range(plan.rounds):
                    self._report(f"calm window {number + 1}")
                    await self._calm()
                    self._report(f"window under attack {number + 1} of {plan.rounds}")
                    await self._attack(hostile)
                    self._note_ends()
                    if found.ended:
                        break
            self._report("last calm window")
            await self._calm()
            await self._crowd.end()
        finally:
            self._crowd.leave()
            gc.enable()
        found.seconds = time.monotonic() - began
        self._note_outcome()
        return found

    async def _calm(self) -> None:
        await asyncio.sleep(self._plan.settle)
        gc.collect()
        begin = time.monotonic()
        await asyncio.sleep(self._plan.window)
        self._soak.calm.append(percentiles_of(self._crowd.ledger.between(begin, time.monotonic())))
        if self._broker.is_running:
            self._soak.calm_resident_bytes.append(self._broker.memory()["now_bytes"])

    async def _attack(self, hostile: Attacker) -> None:
        found = self._soak
        counted = await asyncio.to_thread(self._broker.counted)
        await hostile.prepare()
        begin, used = time.monotonic(), self._broker.processor_seconds()
        found.done.append(await hostile.attack())
        end = time.monotonic()
        if self._broker.is_running:
            used = self._broker.processor_seconds() - used
            found.attacked_processor.append(used / (end - begin))
        await hostile.leave()
        await asyncio.sleep(self._plan.settle)  # late arrivals count as well
        found.attacked.append(percentiles_of(self._crowd.ledger.between(begin, end)))
        if self._broker.is_running:
            after = await asyncio.to_thread(self._broker.counted)
            found.counted = dict(Counter(found.counted) + Counter(growth_of(counted, after)))

    def _note_ends(self) -> None:
        broker, found = self._broker, self._soak
        if not broker.is_running:
            said = broker.standard_error()[-LAST_CHARACTERS:].strip()
            found.ended = f"the broker exited with {broker.exit_code}: {said}"
        elif not broker.page_is_running:
            found.ended = f"the page exited: {broker.page_log()[-LAST_CHARACTERS:].strip()}"

    def _note_outcome(self) -> None:
        found, crowd, broker = self._soak, self._crowd, self._broker
        self._note_ends()
        found.conservations = [
            crowd.ledger.conservation(),
            crowd.returning_ledger.conservation(),
        ]
        found.logins_answered = len(crowd.logins.seconds)
        found.logins_wrong = dict(crowd.logins.wrong)
        found.visits_answered = len(crowd.visits.seconds)
        found.visits_wrong = dict(crowd.visits.wrong)
        found.log_lines = broker.standard_error().count("\n") + broker.page_log().count("\n")
        if broker.is_running:
            found.most_bytes = broker.memory()["most_bytes"]
        # An exception in a task that nothing awaited appears only in the log.
        for name, log in (("broker", broker.standard_error()), ("page", broker.page_log())):
            if "Traceback" in log:
                place = log.index("Traceback")
                found.ended = f"the {name} logged: {log[place : place + LAST_CHARACTERS]}"


def together(attacks: Sequence[type[Attack]]) -> Allowance:
    """Return what all attacks together may use."""
    each = [attack.allowance for attack in attacks]
    return Allowance(
        connections=sum(one.connections for one in each),
        handshakes=sum(one.handshakes for one in each),
        slow_readers=sum(one.slow_readers for one in each),
        sessions=sum(one.sessions for one in each),
        bounds=tuple(sorted({name for one in each for name in one.bounds})),
    )
