"""A waiting port is woken when a device is plugged in, over real sockets and udev's netlink."""

import asyncio
import functools
import logging
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from firmware_bridge.serial import hot_plug, port
from firmware_bridge.serial.hot_plug import (
    DATAGRAMS_AT_ONCE_MAX,
    NETLINK_KOBJECT_UEVENT,
    UDEV_GROUP,
    HotPlug,
    is_serial_device,
    open_netlink,
    open_udev_events,
)

from gateway.process.mqtt_client.backoff import Backoff
from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.running import port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal

# Longer than a test may take, so a wait that ends earlier was woken.
NEVER_SECONDS = 3600.0


def event(*properties: str) -> bytes:
    """Return a datagram as udev sends it."""
    text = b"".join(each.encode() + b"\0" for each in properties)
    filters = bytes(16)
    return struct.pack("=8s4sIII", b"libudev\0", b"\xfe\xed\xca\xfe", 40, 40, len(text)) + (
        filters + text
    )


PLUGGED_IN = event("ACTION=add", "DEVPATH=/devices/x/ttyUSB0", "SUBSYSTEM=tty")


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield two connected sockets: the bridge's non-blocking end, and udev's end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def long_backoff() -> Backoff:
    return Backoff(NEVER_SECONDS, first_seconds=NEVER_SECONDS)


@pytest.mark.parametrize(
    ("datagram", "expected"),
    [
        (PLUGGED_IN, True),
        (event("SUBSYSTEM=tty", "ACTION=change"), True),
        (event("ACTION=remove", "SUBSYSTEM=tty"), False),
        (event("ACTION=add", "SUBSYSTEM=block"), False),
        (event("ACTION=add", "NOTE=SUBSYSTEM=tty"), False),
        (b"add@/devices/x/ttyUSB0\0ACTION=add\0SUBSYSTEM=tty\0", False),
        (PLUGGED_IN.replace(b"\xfe\xed", b"\xed\xfe"), False),
        (PLUGGED_IN[:16] + b"\xff\xff\xff\xff" + PLUGGED_IN[20:], False),
        (PLUGGED_IN[:16] + bytes(4) + PLUGGED_IN[20:], False),
    ],
)
def test_only_serial_devices_that_udev_reports_count(datagram: bytes, expected: bool) -> None:
    assert is_serial_device(datagram) is expected


def test_an_event_cut_short_anywhere_is_no_error() -> None:
    assert not any(is_serial_device(PLUGGED_IN[:end]) for end in range(len(PLUGGED_IN) - 1))


async def test_an_event_ends_the_waits_of_all_ports_and_their_backoff_begins_again(
    wire: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = wire
    async with HotPlug(ours) as plugging, asyncio.timeout(DEADLINE_SECONDS):
        waits = [
            asyncio.create_task(plugging.wait(long_backoff(), since=plugging.arrivals))
            for _ in range(3)
        ]
        await asyncio.sleep(0)
        theirs.send(event("ACTION=add", "SUBSYSTEM=block"))
        theirs.send(PLUGGED_IN)
        await asyncio.gather(*waits)
        assert plugging.arrivals == 1


async def test_an_event_between_the_attempt_and_the_wait_is_not_missed(
    wire: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = wire
    async with HotPlug(ours) as plugging, asyncio.timeout(DEADLINE_SECONDS):
        waiting = asyncio.create_task(plugging.wait(long_backoff(), since=0))
        await asyncio.sleep(0)
        theirs.send(PLUGGED_IN)
        await waiting
        assert plugging.arrivals == 1
        await plugging.wait(long_backoff(), since=0)


async def test_without_events_the_backoff_ends_the_wait() -> None:
    async with HotPlug(None) as plugging, asyncio.timeout(DEADLINE_SECONDS):
        await plugging.wait(Backoff(first_seconds=0.001), since=0)
        assert plugging.arrivals == 0


async def test_a_wait_that_is_cancelled_leaves_nothing() -> None:
    async with HotPlug(None) as plugging:
        waiting = asyncio.create_task(plugging.wait(long_backoff(), since=0))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}


def test_udevs_socket_opens_and_closes_without_any_right() -> None:
    events = open_netlink()
    with events, pytest.raises(BlockingIOError):
        events.recv(1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sends to the group of udev's events")
async def test_events_on_the_kernels_netlink_are_read_also_after_its_overrun() -> None:
    events = open_netlink()
    events.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sender = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_KOBJECT_UEVENT)
    with sender:
        async with HotPlug(events) as plugging, asyncio.timeout(DEADLINE_SECONDS):
            for _ in range(4 * DATAGRAMS_AT_ONCE_MAX):
                sender.sendto(event("ACTION=add", "SUBSYSTEM=block"), (0, UDEV_GROUP))
            await plugging.wait(long_backoff(), since=0)
            overrun = plugging.arrivals
            assert overrun == 1, "what did not fit may have been a port"
            sender.sendto(PLUGGED_IN, (0, UDEV_GROUP))
            await plugging.wait(long_backoff(), since=overrun)


def test_a_machine_without_udev_is_logged_and_polled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(hot_plug, "UDEV_CONTROL", tmp_path / "no-udev")
    assert open_udev_events() is None
    assert "the bridge polls for lost serial ports" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sends to the group of udev's events")
async def test_a_bridge_finds_its_port_at_the_event_and_not_at_the_end_of_its_backoff(
    subscriber: Subscriber,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "control").touch()
    monkeypatch.setattr(hot_plug, "UDEV_CONTROL", tmp_path / "control")
    patient = functools.partial(Backoff, NEVER_SECONDS, first_seconds=NEVER_SECONDS)
    monkeypatch.setattr(port, "Backoff", lambda *_: patient())
    terminal.unplug()
    settings = settings_of(tmp_path / "data", subscriber.port, port_on(terminal, "json"))
    sender = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_KOBJECT_UEVENT)
    with sender:
        async with running_bridge(settings) as room:
            await room.wait_until(lambda room: "no such port" in str(room.port("sensor")))
            terminal.plug_in()
            sender.sendto(PLUGGED_IN, (0, UDEV_GROUP))
            await room.wait_for_port("sensor", "open")
