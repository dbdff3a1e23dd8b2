"""One row: a fresh broker with honest clients, first calm, then under attack, then calm again."""

import asyncio
import gc
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.instruments.benchmarks.brokers import BenchmarkFailed
from tests.instruments.benchmarks.hostile.attack import Attack, Target
from tests.instruments.benchmarks.hostile.attackers import target_text
from tests.instruments.benchmarks.hostile.besieged import BesiegedBroker, besieged
from tests.instruments.benchmarks.hostile.figures import growth_of, percentiles_of
from tests.instruments.benchmarks.hostile.honest import Honest
from tests.instruments.benchmarks.hostile.memory import allowed_bytes

ROOT: Final = Path(__file__).resolve().parents[4]
ATTACKER_DEADLINE_SECONDS: Final = 60.0
ANSWER_BYTES_MAX: Final = 65_536
LOG_CHARACTERS: Final = 600

Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """The length of each stretch in seconds, and the rate of the honest clients."""

    calm: float = 6.0
    attack: float = 3.0
    settle: float = 1.0
    """The time after preparing, before calm latencies are measured."""
    after: float = 10.0
    """The time from the attack's end until memory is measured. Its last part is the second calm."""
    rate: float = 50.0
    """Messages per second of each publisher."""
    gives_way: bool = True
    """The attacker only gets idle processor time. This does not work next to other tests."""


class Attacker:
    """The parent's end of the process that attacks."""

    def __init__(self, process: asyncio.subprocess.Process, seconds: float) -> None:
        self._process = process
        self._seconds = seconds

    async def _answer_to(self, word: bytes) -> bytes:
        """Send a command and return its response. Raises BenchmarkFailed if there is none."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(word + b"\n")
        try:
            async with asyncio.timeout(self._seconds + ATTACKER_DEADLINE_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise BenchmarkFailed(f"the attacker did not respond to {word.decode()}") from None
        if not line:
            raise BenchmarkFailed(f"the attacker exited with {await self._process.wait()}")
        return line

    async def prepare(self) -> None:
        """Send `prepare`, so that the process prepares the broker's state."""
        await self._answer_to(b"prepare")

    async def attack(self) -> dict[str, Row]:
        """Send `attack`, so that the process attacks. Return the figures of each attack."""
        done: dict[str, Row] = json.loads(await self._answer_to(b"attack"))
        return done

    async def leave(self) -> None:
        """Send `leave`, so that the process cuts its connections."""
        await self._answer_to(b"leave")


def give_way(process_id: int) -> None:
    """Give a process only the processor time that no other program wants.

    This includes the threads and processes that it starts later. The alternative, a broker with
    real-time priority, would delay the kernel's own threads, which the disk needs (decision 146).
    """
    os.sched_setscheduler(process_id, os.SCHED_IDLE, os.sched_param(0))


def come_first(report: Callable[[str], None]) -> None:
    """Give this process, which runs the honest clients, a core whenever it needs one.

    In reality the honest clients run on other machines, and need little time. Processes started
    from here have the usual priority. `report` is called if only root may do this.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except PermissionError:
        report("Not root: latencies include the time that honest clients wait for a processor.")


@asynccontextmanager
async def attacker(
    attacks: Sequence[type[Attack]],
    seconds: float,
    target: Target,
    *,
    gives_way: bool,
    share: float = 1.0,
) -> AsyncIterator[Attacker]:
    """Yield a process that attacks. Its connections end with the block."""
    names = ",".join(attack.__name__ for attack in attacks)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "tests.instruments.benchmarks.hostile.attackers"),
        *(names, str(seconds), str(share), target_text(target)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=ANSWER_BYTES_MAX,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    try:
        if gives_way:
            give_way(process.pid)
        yield Attacker(process, seconds)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def besiege(attack: type[Attack], code: Path, directory: Path, plan: Plan) -> Row:
    """Measure one row on a new broker. Raises BenchmarkFailed if it cannot be measured."""
    data_directory = Path(tempfile.mkdtemp(dir=directory))
    try:
        with besieged(code, data_directory / "data") as broker:
            return await besiege_running(attack, broker, plan)
    finally:
        shutil.rmtree(data_directory, ignore_errors=True)


async def besiege_running(attack: type[Attack], broker: BesiegedBroker, plan: Plan) -> Row:
    """Measure one row on a running broker that has not been used before."""
    honest = Honest(broker.port, plan.rate, lambda: broker.is_running)
    try:
        await honest.begin()
        async with attacker(
            [attack], plan.attack, broker.target, gives_way=plan.gives_way
        ) as hostile:
            await hostile.prepare()
            await honest.publish_for(plan.settle)
            calm = percentiles_of(await honest.publish_for(plan.calm))
            row = await _attacked(broker, honest, hostile, plan)
        return await _afterwards(attack, broker, honest, plan, row | {"calm_ms": calm})
    finally:
        honest.leave()


async def _attacked(broker: BesiegedBroker, honest: Honest, hostile: Attacker, plan: Plan) -> Row:
    counted = await asyncio.to_thread(broker.counted)
    broker.forget_high_water()
    before = broker.memory()
    processor = broker.processor_seconds()
    end = asyncio.Event()
    gc.collect()
    gc.disable()
    try:
        publishing = asyncio.create_task(honest.publish_until(end))
        (done,) = (await hostile.attack()).values()
        end.set()
        latencies = await publishing
    finally:
        end.set()
        gc.enable()
    row: Row = {"done": done, "memory_before_bytes": before["now_bytes"], "samples": {}}
    row["samples"] = {name: len(values) for name, values in latencies.items()}
    if not broker.is_running:
        return row | {"ended": _last_words(broker)}
    if not all(latencies.values()):
        return row | {"stalled": True, "memory_most_bytes": broker.memory()["most_bytes"]}
    return row | {
        "during_ms": percentiles_of(latencies),
        "memory_most_bytes": broker.memory()["most_bytes"],
        "processor_seconds": broker.processor_seconds() - processor,
        "counted": growth_of(counted, await asyncio.to_thread(broker.counted)),
    }


async def _afterwards(
    attack: type[Attack], broker: BesiegedBroker, honest: Honest, plan: Plan, row: Row
) -> Row:
    """Measure the time after the attack: memory, latencies, and lost or doubled messages."""
    if "during_ms" in row:
        calm_again = min(plan.calm, plan.after)
        await asyncio.sleep(plan.after - calm_again)
        row["after_ms"] = percentiles_of(await honest.publish_for(calm_again))
        row["memory_after_bytes"] = broker.memory()["now_bytes"]
        row["memory_most_bytes"] = broker.memory()["most_bytes"]
    return row | {
        "attack": attack.__name__,
        "memory_allowed_bytes": allowed_bytes(attack.allowance),
        "conservation": asdict(honest.ledger.conservation()),
    }


def _last_words(broker: BesiegedBroker) -> str:
    return f"exit code {broker.exit_code}: {broker.standard_error()[-LOG_CHARACTERS:].strip()}"
