"""`oncegate serial`: ports that are plugged in, received frames, recording and replay."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from gateway.cli.main import run
from tests.bridge.terminal import Terminal
from tests.cli.command import oncegate


def test_the_ports_of_this_machine_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serial", "list", "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out)["ports"], list)
    assert run(["serial", "list"]) == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sniff", "/dev/absent-port"], "absent-port"),
        (["sniff", "1234:5678"], "no USB serial device 1234:5678 is plugged in"),
        (["sniff", "tcp://127.0.0.1:1", "-s", "1"], "tcp://127.0.0.1:1:"),
        (["sniff", "x", "--line", "9600"], "--line: use a rate"),
        (["sniff", "x", "--framing", "morse"], "use one of board, nmea"),
        (["sniff", "x", "--framing", "csv"], "use --config FILE --port NAME"),
        (["sniff", "modbus+tcp://127.0.0.1:1", "--framing", "modbus"], "no requests of others"),
        (["sniff"], "name the port: PORT, or --port NAME"),
        (["sniff", "--port", "a", "--framing", "csv"], "either --port or --framing"),
        (["sniff", "--port", "a"], "--port a: the file has none"),
        (["replay", __file__], "this is not a recording"),
        (["sniff", __file__], "test_commands.py is not a serial port; `oncegate serial list`"),
        (["sniff", "/dev/null"], "/dev/null is not a serial port; `oncegate serial list`"),
        (["sniff", "/dev"], "/dev is not a serial port; `oncegate serial list`"),
        (["sniff", "tcp://127.0.0.1:1"], "tcp://127.0.0.1:1: Connection refused"),
    ],
)
def test_what_does_not_work_is_a_line(
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("firmware_bridge.serial.replaying._wait_until_opened", lambda master: None)
    assert run(["serial", *arguments]) in (1, 2)
    assert sentence in capsys.readouterr().err


def test_sniff_shows_bytes_frames_and_damage(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_when_opened(terminal, b'{"a":1}\n{"a":\x1b\n', monkeypatch)
    arguments = ["serial", "sniff", str(terminal.link), "--framing", "json", "--seconds", "0.2"]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert "7b 22 61 22 3a 31 7d 0a" in out
    assert "a=1" in out
    assert "!! syntax" in out
    assert "1 frames, 1 damaged" in out
    assert "\x1b" not in out


PORTS = """\
[[serial]]
name = "dust"
path = "{link}"
framing = "frames"
start = "42 4D"
length_at = 2
length_type = "u16"
length_adds = 4
checksum = "sum16"
line = "9600 8N1"
[[serial.fields]]
name = "pm2_5"
at = 4
type = "u16"
[[serial]]
name = "level"
path = "/dev/absent"
framing = "csv"
columns = ["level", "_", "state"]
[[serial]]
name = "words"
path = "/dev/absent2"
framing = "pattern"
pattern = "(?P<a>[0-9]+) of (?P<b>[0-9]+)"
"""
DUST = b"BM\x00\x04\x01\x02\x00\x96"


@pytest.fixture
def file(terminal: Terminal) -> Path:
    found = terminal.link.with_name("gateway.toml")
    found.write_text(PORTS.format(link=terminal.link))
    return found


@pytest.mark.parametrize(
    ("name", "data", "shown"),
    [
        ("dust", DUST, "pm2_5=258"),
        ("level", 2 * b"3,x,open\n", "level=3"),
        ("words", 2 * b"3 of 9\n", "b=9"),
    ],
)
def test_sniff_reads_with_the_keys_of_a_port_in_the_file(
    name: str,
    data: bytes,
    shown: str,
    *,
    file: Path,
    terminal: Terminal,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send_when_opened(terminal, data, monkeypatch)
    place = [] if name == "dust" else [str(terminal.link)]
    options = ["--config", str(file), "--port", name, "--seconds", "0.2"]
    assert run(["serial", "sniff", *place, *options]) == 0
    assert shown in capsys.readouterr().out


def test_damage_is_marked_beside_the_bytes_that_show_it(
    file: Path,
    terminal: Terminal,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damaged = DUST[:-1] + b"\x97"
    send_when_opened(terminal, DUST + damaged + DUST + DUST + damaged + DUST, monkeypatch)
    options = ["--config", str(file), "--port", "dust", "--seconds", "0.2"]
    assert run(["serial", "sniff", *options]) == 0
    rows = [line.split("  ")[-1].strip() for line in capsys.readouterr().out.splitlines()]
    # Two frames in each row of 16 bytes.
    first, second, third = ["pm2_5=258", "!! checksum"], 2 * ["pm2_5=258"], ["pm2_5=258"]
    assert rows[:-1] == [*first, *second, *third, "!! checksum"]
    assert rows[-1] == "4 frames, 2 damaged"


def test_detect_prints_what_to_configure_and_how_sure_it_is(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_when_opened(terminal, b"5}\n" + b'{"a":1.5}\n' * 20, monkeypatch)
    assert run(["serial", "detect", str(terminal.link), "--seconds", "0.2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# 100% sure: 20 frames, 0 damaged\n#   a = 1.5\n")
    assert tomllib.loads(out)["serial"] == [
        {
            "name": "sensor",
            "path": str(terminal.link),
            "framing": "json",
            "line": "115200 8N1",
        }
    ]


def test_noise_is_not_detected_as_anything(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    send_when_opened(terminal, bytes(range(128, 256)) * 8, monkeypatch)
    arguments = ["serial", "detect", str(terminal.link), "--seconds", "0.2", "--line", "9600 8N1"]
    assert run(arguments) == 1
    assert "no protocol was recognised" in capsys.readouterr().err


def test_what_is_recorded_is_replayed(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_when_opened(terminal, bytes(range(256)), monkeypatch)
    file, link = tmp_path / "line.jsonl", tmp_path / "replay"
    assert run(["serial", "record", str(terminal.link), str(file), "--seconds", "0.2"]) == 0
    command = [sys.executable, "-m", "gateway.cli.main", "serial", "replay", str(file)]
    replaying = subprocess.Popen([*command, "--link", str(link), "--fast"])
    while not link.exists():
        assert replaying.poll() is None
        time.sleep(0.01)
    received, opened = b"", os.open(link, os.O_RDWR | os.O_NOCTTY)
    while len(received) < 256:
        received += os.read(opened, 4096)
    os.close(opened)
    assert received == bytes(range(256))
    assert replaying.wait(60) == 0


def test_a_recording_is_not_overwritten(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    arguments = ("serial", "record", terminal.link, tmp_path / "there", "--seconds", "1")
    outcome = oncegate(*arguments, directory=tmp_path)
    assert outcome.returncode == 1
    assert "there" in outcome.stderr


def send_when_opened(terminal: Terminal, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the terminal send after the port is opened, because opening discards earlier bytes."""
    from firmware_bridge.serial import opening  # noqa: PLC0415

    open_device = opening._open_device

    def open_and_send(settings: object) -> object:
        link = open_device(settings)  # type: ignore[arg-type]
        terminal.send(data)
        return link

    monkeypatch.setattr(opening, "_open_device", open_and_send)
