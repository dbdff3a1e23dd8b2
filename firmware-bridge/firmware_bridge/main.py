"""The bridge's composition root: one process, one outbox, one task a port.

Stopping in order: no more bytes are read, what has been read becomes durable, what is durable is
published as far as the broker takes it within a few seconds; the rest waits for the next start.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from firmware_bridge.control_socket import ControlSocket
from firmware_bridge.mqtt.availability import Availability
from firmware_bridge.mqtt.commander import Commander
from firmware_bridge.mqtt.publisher import Publisher
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import OutboxError, cannot_write, open_outbox_store
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.serial.commands import Commands
from firmware_bridge.serial.hot_plug import HotPlug, open_udev_events
from firmware_bridge.serial.port import Port
from firmware_bridge.settings import BridgeSettings
from gateway.connecting.session_name import this_machine
from gateway.files.lock import LockTaken, ProcessLock
from gateway.files.queue_database import NoRoom

logger = logging.getLogger(__name__)

OUTBOX_FILE = "outbox.db"
LOCK_FILE = "bridge.lock"
# systemd waits 90 s; a person at Ctrl-C waits less. What is left goes out next time.
DRAIN_SECONDS_MAX = 5.0
# Between two attempts to open the outbox on a full disk.
OPEN_AGAIN_SECONDS = 1.0
# Between two looks at whether the bridge still works.
ALIVE_SECONDS = 1.0
# A commit that takes longer stands still: a dying card needs half a minute for one bad block.
COMMIT_SECONDS_MAX = 60.0


def _nothing() -> None:
    """Run for a caller that needs no report."""


async def serve(
    settings: BridgeSettings,
    stop: asyncio.Event,
    ready: Callable[[], None] = _nothing,
    alive: Callable[[], None] = _nothing,
) -> None:
    """Run until `stop` is set, then drain.

    Args:
        settings: the whole bridge.
        stop: ends it.
        ready: called when the ports are read, or wait for room on a full disk.
        alive: called each second while the event loop runs and no commit stands still.

    Raises:
        OutboxError: one line with the mend.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with _only_bridge_in(settings.data_dir):
        outbox = await _open(settings, stop, ready, alive)
        if outbox is None:
            return
        try:
            await _serve(settings, outbox, stop, ready, alive)
        except* OutboxError as errors:
            raise errors.exceptions[0] from None
        finally:
            await outbox.close()


async def _open(
    settings: BridgeSettings,
    stop: asyncio.Event,
    ready: Callable[[], None],
    alive: Callable[[], None],
) -> Outbox | None:
    """Wait while the disk is full; None where the end comes first. Raises `OutboxError`."""
    path = settings.data_dir / OUTBOX_FILE
    is_logged = False
    while not stop.is_set():
        try:
            store = await asyncio.to_thread(open_outbox_store, path)
            return _outbox_of(store, settings)
        except NoRoom as full:
            if not is_logged:
                logger.error("the outbox cannot be opened on a full disk (%s): free space", full)
                is_logged = True
                ready()  # to wait for room is its work: it must not be ended for taking long
            alive()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPEN_AGAIN_SECONDS):
                await stop.wait()
    return None


def _outbox_of(store: OutboxStore, settings: BridgeSettings) -> Outbox:
    try:
        outbox = Outbox(
            store,
            window=settings.window,
            bytes_max=settings.outbox_bytes_max,
            commit_delay_seconds=settings.commit_delay_seconds,
        )
        outbox.choose_session(settings.broker.client_id, this_machine())
    except sqlite3.Error as error:
        store.close()
        raise cannot_write(store.path, error) from error
    except NoRoom:
        store.close()
        raise
    return outbox


async def _serve(
    settings: BridgeSettings,
    outbox: Outbox,
    stop: asyncio.Event,
    ready: Callable[[], None],
    alive: Callable[[], None],
) -> None:
    control = ControlSocket(settings.control_socket)
    next_sequence = _sequence_numbers()
    hot_plug = HotPlug(open_udev_events())
    commands = Commands() if settings.takes_commands else None
    ports = [
        Port(each, outbox, control, next_sequence, hot_plug, commands=commands)
        for each in settings.ports
    ]
    publisher = Publisher(settings.broker, outbox, _availability_of(settings, ports))

    def status() -> dict[str, object]:
        return {
            "mqtt": publisher.status(),
            "outbox": outbox.status(),
            "ports": [port.status() for port in ports],
        }

    async with hot_plug, asyncio.TaskGroup() as tasks:
        committing = tasks.create_task(outbox.run())
        publishing = tasks.create_task(publisher.run())
        reporting = tasks.create_task(control.run(status, settings.report_seconds))
        reading = [tasks.create_task(port.run()) for port in ports]
        reading += [tasks.create_task(each.run()) for each in _commanders(settings, commands)]
        logger.info("bridge started: %d serial ports, outbox %s", len(ports), settings.data_dir)
        ready()
        await _watch_until(stop, outbox, alive)
        await _end(reading)
        await _drain(outbox, publisher)
        await _end([publishing, reporting])
        outbox.stop()
        await committing
    logger.info("bridge stopped, %d readings wait in the outbox", outbox.status()["waiting"])


def _sequence_numbers() -> Callable[[str], int]:
    """Return what gives each device its numbers, from 1 on."""
    latest: Counter[str] = Counter()

    def next_sequence(device: str) -> int:
        latest[device] += 1
        return latest[device]

    return next_sequence


def _availability_of(settings: BridgeSettings, ports: list[Port]) -> Availability | None:
    if settings.availability_topic is None:
        return None
    return Availability(
        settings.availability_topic,
        lambda: {name: state for port in ports for name, state in port.availability().items()},
    )


def _commanders(settings: BridgeSettings, commands: Commands | None) -> list[Commander]:
    return [] if commands is None else [Commander(settings.broker, commands.carry_out)]


async def _drain(outbox: Outbox, publisher: Publisher) -> None:
    """Commit what has been read, and publish as much of it as the broker takes meanwhile."""
    with contextlib.suppress(TimeoutError):
        # On a full disk it does not come: what waits for it was not acknowledged.
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            await outbox.wait_for_commit()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS_MAX if publisher.connected else 0):
            await outbox.wait_until_empty()


async def _watch_until(stop: asyncio.Event, outbox: Outbox, alive: Callable[[], None]) -> None:
    while not stop.is_set():
        if outbox.commit_seconds < COMMIT_SECONDS_MAX:
            alive()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ALIVE_SECONDS):
                await stop.wait()


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _only_bridge_in(data_dir: Path) -> Iterator[None]:
    """Refuse a second bridge: two on one outbox would take each other's packet identifiers.

    Raises `OutboxError`.
    """
    with ProcessLock(data_dir / LOCK_FILE) as lock:
        try:
            lock.take()
        except LockTaken:
            raise OutboxError(
                f"another bridge is using {data_dir}; stop it or choose another data_dir"
            ) from None
        yield
