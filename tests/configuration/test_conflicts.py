"""Values in several tables that contradict each other, and further mistakes next to them."""

from collections.abc import Collection
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, load
from gateway.configuration.conflicts import conflicts

SERIAL = "[[serial]]\nname = '{}'\n{}\n"
UNIX = "[[listeners]]\nprotocol = 'unix'\npath = '{}'\n"


def lines_of(content: str, file: Path) -> tuple[str, ...]:
    file.write_text(content)
    try:
        load(file, {}, {}, PROTOCOLS)
    except ConfigurationError as refusal:
        return refusal.problems
    return ()


@pytest.mark.parametrize(
    ("content", "fixes"),
    [
        ("[api]\nport = 1883", ["another [api] port than 1883"]),
        ("[api]\nport = 1883\nbind = '0.0.0.0'", ["another [api] port than 1883"]),
        ("[api]\nport = 1883\nbind = 'localhost'", ["another [api] port than 1883"]),
        ("[[listeners]]\nbind = '::1'\nport = 8080\n[api]\nbind = '::'", ["another [api] port"]),
        (
            "[[listeners]]\n[[listeners]]\nbind = '0.0.0.0'\nallow_anonymous_network = true",
            ["another port for the listener at 127.0.0.1 port 1883: 0.0.0.0 port 1883 includes it"],
        ),
        (
            "[[listeners]]\n" + 2 * UNIX.format("/run/x"),
            ["one listener at /run/x, not several"],
        ),
        (
            "[[listeners]]\n[gateway]\ndata_dir = '/srv'\n" + UNIX.format("/srv/control.sock"),
            ["another path for the listener at /srv/control.sock"],
        ),
        (
            SERIAL.format("a", "path = '/dev/x'") + SERIAL.format("b", "path = '/dev/x'"),
            ['one [[serial]] with path = "/dev/x", not several'],
        ),
        (
            SERIAL.format("a", "usb = '1546:01a7'") + SERIAL.format("a", "usb = '1546:01A7'"),
            ['with name = "a"', 'with usb = "1546:01a7"'],
        ),
        (
            2 * "[[listeners]]\n" + "[api]\nport = 1883\n[bridge]\nwindow = 101",
            ["one listener at", "another [api] port", "another [api] port", "a [bridge] window"],
        ),
        (
            "[mqtt]\nretain_available = false\n[bridge]\nhome_assistant_prefix = 'a'\n"
            + SERIAL.format("a", "path = '/dev/x'"),
            ["retain_available = true for [bridge] home_assistant_prefix"],
        ),
        (
            "[mqtt]\nretain_available = false\n[bridge]\navailability_topic = 'a'\n"
            + SERIAL.format("a", "path = '/dev/x'\nreadings = {retain = true}"),
            ["for [serial.readings] retain, or [bridge] broker", "for [bridge] availability_topic"],
        ),
    ],
)
def test_what_does_not_fit_is_said_a_line_each(
    content: str, fixes: Collection[str], file: Path
) -> None:
    lines = lines_of(content, file)
    assert len(lines) == len(fixes)
    for line, fix in zip(lines, fixes, strict=True):
        assert line.startswith(f"{file}: use {fix}") or fix in line


@pytest.mark.parametrize(
    "content",
    [
        "[api]\nport = 0\n[[listeners]]\nport = 0",
        "[[listeners]]\nport = 8080\nbind = '::1'",
        "[[listeners]]\nport = 8080\nbind = '127.0.0.2'",
        "[[listeners]]\nport = 8080\nbind = '::'\nallow_anonymous_network = true",
        "[[listeners]]\n" + UNIX.format("/run/x") + UNIX.format("/run/y"),
        SERIAL.format("a", "path = '/dev/x'") + SERIAL.format("b", "path = '/dev/y'"),
    ],
)
def test_what_fits_is_accepted(content: str, file: Path) -> None:
    assert lines_of(content, file) == ()


def test_beside_a_mistake_the_tables_without_one_are_compared(file: Path) -> None:
    content = "[[listeners]]\nport = -1\n[[listeners]]\nport = 8080\n[mqtt]\nx = 1\n"
    lines = lines_of(content + 2 * SERIAL.format("a", "path = '/dev/x'"), file)
    assert len(lines) == 5
    assert sum("another [api] port than 8080" in line for line in lines) == 1
    assert sum("not several" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("[access]\npassword_file = 1\n[[listeners]]\nanonymous = false", "access"),
        ("[mqtt]\nmax_awaiting_rel = '7'\n[bridge]\nwindow = 200", "mqtt"),
        (
            "[bridge]\nbroker = 3\n[mqtt]\nmaximum_qos = 1\n" + SERIAL.format("a", "path = 'x'"),
            "bridge",
        ),
        ("[api]\nport = -1\n[[listeners]]\nport = 8080", "api"),
        ("[[listeners]]\nport = -1\n[[listeners]]\nprotocol = 'websocket'", "listeners"),
    ],
)
def test_nothing_follows_from_a_section_that_is_wrong(content: str, wrong: str, file: Path) -> None:
    (line,) = lines_of(content, file)
    assert f"[{wrong}]" in line


def test_the_defaults_fit_together() -> None:
    assert list(conflicts(load(None, {}, {}, None))) == []
