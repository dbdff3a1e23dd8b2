"""Notifications to systemd, received on a socket like systemd's."""

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.service import Service


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Return the service manager's socket, which a process finds through its environment."""
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


def sent(manager: socket.socket) -> list[str]:
    messages = []
    while True:
        try:
            messages.append(manager.recv(4096).decode().rstrip("\n"))
        except BlockingIOError:
            return messages


def test_the_states_of_a_process_are_sent_as_they_come(manager: socket.socket) -> None:
    service = Service()
    service.ready()
    service.status("3 clients")
    service.status("3 clients")
    service.status("4 clients")
    service.stopping()
    assert sent(manager) == ["READY=1", "STATUS=3 clients", "STATUS=4 clients", "STOPPING=1"]


def test_a_reload_has_the_time_at_which_it_began(manager: socket.socket) -> None:
    Service().reloading()
    (message,) = sent(manager)
    state, time = message.split("\n")
    assert state == "RELOADING=1"
    assert int(time.removeprefix("MONOTONIC_USEC=")) > 0


def test_many_signs_of_life_become_few_messages(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", str(3600 * 1_000_000))
    service = Service()
    assert service.watchdog_seconds == 3600.0
    # No more messages than the socket can hold: a wrong service would block otherwise, and not
    # fail.
    for _ in range(8):
        service.alive()
    assert sent(manager) == ["WATCHDOG=1"]


def test_each_sign_of_life_is_a_message_where_the_watchdog_waits_for_no_time(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "0")
    service = Service()
    service.alive()
    service.alive()
    assert sent(manager) == ["WATCHDOG=1", "WATCHDOG=1"]


@pytest.mark.parametrize(
    ("microseconds", "pid", "seconds"),
    [
        ("2000000", None, 2.0),
        ("2000000", "its own", 2.0),
        ("2000000", "1", None),
        ("", None, None),
        ("soon", None, None),
    ],
)
def test_a_watchdog_of_another_process_is_not_fed(
    manager: socket.socket,
    monkeypatch: pytest.MonkeyPatch,
    microseconds: str,
    pid: str | None,
    seconds: float | None,
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", microseconds)
    if pid is not None:
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "its own" else pid)
    service = Service()
    assert service.watchdog_seconds == seconds
    service.alive()
    assert sent(manager) == ([] if seconds is None else ["WATCHDOG=1"])


def test_without_systemd_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setenv("WATCHDOG_USEC", "2000000")
    service = Service()
    service.ready()
    service.alive()
    service.stopping()


def test_without_its_library_it_states_once_that_systemd_waits_in_vain(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.process.service.daemon", None)
    service = Service()
    with caplog.at_level(logging.ERROR):
        service.ready()
        service.status("3 clients")
    (record,) = caplog.records
    assert "the wheel file with its extra [systemd]" in record.getMessage()
    assert sent(manager) == []


def test_without_its_library_and_without_systemd_it_logs_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr("gateway.process.service.daemon", None)
    Service().ready()
    assert not caplog.records


def test_a_manager_that_is_away_is_logged_once_and_sent_to_again(
    manager: socket.socket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service()
    path = tmp_path / "notify"
    path.rename(tmp_path / "away")
    with caplog.at_level(logging.WARNING):
        service.ready()
        service.stopping()
    assert len(caplog.records) == 1
    assert "READY=1" in caplog.text
    (tmp_path / "away").rename(path)
    service.status("again")
    assert sent(manager) == ["STATUS=again"]
