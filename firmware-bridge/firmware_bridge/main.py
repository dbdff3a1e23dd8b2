"""The bridge's composition root: one process with one outbox, and one task for each port.

The bridge stops in three steps: reading stops, received readings become durable, and durable
readings are published for up to a few seconds. Any remaining readings are published after the next
start.
"""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from firmware_bridge.control_socket import ControlSocket
from firmware_bridge.describing import announcer_of
from firmware_bridge.mqtt.announcer import Announcer
from firmware_bridge.mqtt.availability import Availability
from firmware_bridge.mqtt.commander import Commander
from firmware_bridge.mqtt.problem import problem_payload
from firmware_bridge.mqtt.publisher import Publisher
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import NAMES, open_outbox_store
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.sensor_requests import SensorFiles, SensorRequests
from firmware_bridge.serial.commands import Commands
from firmware_bridge.serial.detections import Detections
from firmware_bridge.serial.hot_plug import HotPlug, open_udev_events
from firmware_bridge.serial.port import Port, SharedParts
from firmware_bridge.serial.ports import Ports
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.settings import BridgeSettings
from gateway.process.files.queue_process import Supervision, end_all, serve_queue
from gateway.process.mqtt_client.session_name import this_machine

logger = logging.getLogger(__name__)

Run = Callable[[], Coroutine[Any, Any, None]]
"""A coroutine function that runs until it is cancelled."""

OUTBOX_FILE = "outbox.db"
# Timeout for publishing when the bridge stops. A person who pressed Ctrl-C would not wait longer,
# although systemd would wait 90 s.
DRAIN_SECONDS_MAX = 5.0


def _do_nothing() -> None:
    """Ignore a notification. This is the default for optional callbacks."""


async def serve(
    settings: BridgeSettings,
    stop: asyncio.Event,
    ready: Callable[[], None] = _do_nothing,
    alive: Callable[[], None] = _do_nothing,
    sensor_files: SensorFiles | None = None,
) -> None:
    """Run the bridge until `stop` is set. Then publish the remaining readings for a few seconds.

    Args:
        settings: settings of the whole bridge.
        stop: event that stops the bridge.
        ready: called when the ports are being read, or when the bridge waits for disk space.
        alive: called every second, unless the event loop is blocked or a commit hangs.
        sensor_files: functions that read and change the configuration of ports for operators of
            the web page. If it is None, operators cannot change ports.

    Raises:
        QueueError: if the outbox cannot be opened. The message explains in one line how to fix
            this.
    """
    supervision = Supervision(stop, ready, alive)
    await serve_queue(
        settings.data_dir / OUTBOX_FILE,
        NAMES,
        supervision,
        open_database=open_outbox_store,
        opened_on=lambda store: _outbox_on(store, settings),
        serve=lambda outbox: _serve(settings, outbox, supervision, sensor_files),
    )


def _outbox_on(store: OutboxStore, settings: BridgeSettings) -> Outbox:
    outbox = Outbox(
        store,
        window=settings.window,
        bytes_max=settings.outbox_bytes_max,
        age_max_seconds=settings.outbox_age_max_seconds,
        commit_delay_seconds=settings.commit_delay_seconds,
    )
    outbox.choose_session(settings.broker.client_id, this_machine())
    return outbox


async def _serve(
    settings: BridgeSettings,
    outbox: Outbox,
    supervision: Supervision,
    sensor_files: SensorFiles | None,
) -> None:
    control = ControlSocket(settings.control_socket)
    hot_plug = HotPlug(open_udev_events())
    announcer = announcer_of(settings)
    commands = Commands() if settings.takes_commands else None
    make = _port_maker(settings, outbox, control, hot_plug, announcer=announcer, commands=commands)
    async with hot_plug, asyncio.TaskGroup() as tasks:
        ports = Ports(make, tasks)
        reports = _Reports(settings, ports, control)
        publisher = Publisher(settings.broker, outbox, _availability_of(settings, ports, reports))

        def status() -> dict[str, object]:
            return {
                "mqtt": publisher.status(),
                "outbox": outbox.status(),
                "home_assistant": _home_assistant_status(settings, announcer),
                "ports": [port.status() for port in ports],
            }

        committing, publishing = (tasks.create_task(each.run()) for each in (outbox, publisher))
        await ports.replace(settings.ports)
        reporting = tasks.create_task(control.run(status, settings.report_seconds))
        others: list[Run] = [announcer.run, *(each.run for each in _commanders(settings, commands))]
        others += _operator_tasks(settings, sensor_files, ports, announcer, reports)
        running = [tasks.create_task(run()) for run in others]
        logger.info("bridge started, outbox %s, serial ports: %s", settings.data_dir, ports)
        supervision.ready()
        await supervision.watch(outbox.commits)
        await end_all(running)
        await ports.end()
        await _drain(outbox, publisher)
        await end_all([publishing, reporting])
        outbox.stop()
        await committing
    logger.info("bridge stopped, %d readings wait in the outbox", outbox.status()["waiting"])


def _home_assistant_status(
    settings: BridgeSettings, announcer: Announcer[PortSettings]
) -> dict[str, object] | None:
    """Return the Home Assistant part of the bridge's status.

    Return None if no descriptions for Home Assistant are configured.
    """
    if settings.home_assistant_prefix is None:
        return None
    return {
        "prefix": settings.home_assistant_prefix,
        "gateway": settings.gateway_id,
        **announcer.status(),
    }


def _port_maker(
    settings: BridgeSettings,
    outbox: Outbox,
    control: ControlSocket,
    hot_plug: HotPlug,
    *,
    announcer: Announcer[PortSettings],
    commands: Commands | None,
) -> Callable[[PortSettings], Port]:
    """Return a function that creates a port from the port's settings.

    All these ports share the outbox, the control socket, and the other objects that this function
    receives.
    """
    seen = announcer.seen if settings.home_assistant_prefix is not None else None
    parts = SharedParts(outbox, control, hot_plug, _sequence_numbers(), commands, seen)
    return lambda each: Port(each, parts)


def _operator_tasks(
    settings: BridgeSettings,
    files: SensorFiles | None,
    ports: Ports,
    announcer: Announcer[PortSettings],
    reports: "_Reports",
) -> list[Run]:
    """Return the two coroutine functions that serve operators of the web page.

    The first stops a detection when no web page has requested its progress for a while. The second
    handles the operators' requests about ports. If `files` is None, operators cannot change ports,
    and the list is empty.
    """
    if files is None:
        return []

    async def replace(wanted: tuple[PortSettings, ...]) -> None:
        await ports.replace(wanted)
        announcer.ports_changed(wanted)

    detections = Detections(lambda: ports.settings)
    requests = SensorRequests(
        settings.control_socket,
        files,
        detections,
        ports,
        replace=replace,
        use_alarms_topic=reports.use_alarms_topic,
    )
    return [detections.run, requests.run]


def _sequence_numbers() -> Callable[[str], int]:
    """Return a function that numbers the readings of each device: 1, 2, 3 and so on.

    The function takes a device's name, and returns the next number for this device.
    """
    latest: Counter[str] = Counter()

    def next_sequence(device: str) -> int:
        latest[device] += 1
        return latest[device]

    return next_sequence


def _availability_of(
    settings: BridgeSettings, ports: Ports, reports: "_Reports"
) -> Availability | None:
    if settings.availability_topic is None and settings.alarms_topic is None:
        return None
    return Availability(
        settings.availability_topic,
        lambda: {name: state for port in ports for name, state in port.availability().items()},
        reports.payloads,
    )


class _Reports:
    """The alarms of the gateway and the problems of its ports, to publish as retained messages."""

    def __init__(self, settings: BridgeSettings, ports: Ports, control: ControlSocket) -> None:
        self._alarms_topic = settings.alarms_topic
        self._problem_topic = settings.problem_topic
        self._ports = ports
        self._control = control

    def use_alarms_topic(self, topic: str) -> None:
        """Publish alarms below `topic` from now on, because the configuration was reloaded."""
        self._alarms_topic = topic

    def payloads(self) -> dict[str, bytes]:
        """Return the payloads, keyed by topic."""
        alarms = self._control.alarms
        found = {f"{self._alarms_topic}/{kind}": each for kind, each in alarms.items()}
        if self._problem_topic is not None:
            reasons = [reason for port in self._ports if (reason := port.problem()) is not None]
            found[self._problem_topic] = problem_payload(reasons)
        return found


def _commanders(settings: BridgeSettings, commands: Commands | None) -> list[Commander]:
    return [] if commands is None else [Commander(settings.broker, commands.carry_out)]


async def _drain(outbox: Outbox, publisher: Publisher) -> None:
    """Commit all received readings. Then publish until the outbox is empty or a timeout expires."""
    with contextlib.suppress(TimeoutError):
        # On a full disk this times out. Readings that are not committed were not acknowledged.
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            await outbox.wait_for_commit()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS_MAX if publisher.connected else 0):
            await outbox.wait_until_empty()
