"""Every tutorial works: its commands succeed and print what the page shows."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.tutorial import (
    STOP_SECONDS_MAX,
    TUTORIALS,
    Command,
    Reader,
    SavedFile,
    difference,
    free_ports,
    steps_of,
)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    shutil.copy(TUTORIALS / "simulated_meters.py", tmp_path)
    reader = Reader(tmp_path, free_ports())
    yield reader
    reader.stop()


@pytest.mark.slow
def test_make_run_prints_what_the_readme_shows(reader: Reader) -> None:
    """In a checkout the page names the command by its path, and the test uses other ports."""
    command = next(iter(steps_of((TUTORIALS.parents[1] / "README.md").read_text())))
    assert isinstance(command, Command)
    assert command.line == "make run"
    ports = free_ports()
    command.line = f"oncegate up --listen 127.0.0.1:{ports['1883']} --port {ports['8080']}"
    command.output = [line.replace(".venv/", "....venv/") for line in command.output]
    reader.start(command)


@pytest.mark.slow
def test_a_smart_meter_into_home_assistant(reader: Reader) -> None:
    reader.follow(TUTORIALS / "smart-meter.md")


@pytest.mark.slow
def test_an_mqtt_application_with_users_and_tls(reader: Reader) -> None:
    reader.follow(TUTORIALS / "mqtt-application.md")


def test_ctrl_c_stops_a_terminal_also_in_a_run_that_ignores_it(reader: Reader) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        program = "import time; print('ready', flush=True); time.sleep(1000)"
        reader.start(Command(f'python -c "{program}"', output=["ready"]))
        begun = time.monotonic()
        reader.stop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < STOP_SECONDS_MAX


def test_files_and_commands_of_a_page_are_found_in_their_order() -> None:
    page = (
        "Save this as `a.toml`:\n\n```toml\nx = 1\n```\n\n```toml\ny = 2\n```\n"
        "<!-- keeps running -->\n```console\n$ run \\\n>   it\nstarted\n```\n"
        "<!-- fails -->\n```console\n$ one\n1\n$ two\n```\n"
    )
    assert list(steps_of(page)) == [
        SavedFile("a.toml", "x = 1\n"),
        Command("run \\\n  it", keeps_running=True, output=["started"]),
        Command("one", output=["1"]),
        Command("two", fails=True),
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("18 segments, 0 doubled", "7 segments, 0 doubled"),
        ("at 18:30:00 of 2026-11-26", "at 00:01:02 of 2027-01-01"),
        ("gw-5f7ae5e6, v 1,234.5", "gw-00aa1122, v 2.0"),
        ("made .../ca.pem", "made /tmp/x/ca.pem"),
        ("a  b", " a b"),
    ],
)
def test_a_line_with_other_numbers_is_the_same(shown: str, printed: str) -> None:
    assert difference([shown], printed) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["18 segments, 0 doubled"], "18 segments, 1 doubled"),
        (["18 segments, 2 doubled"], "0 segments, 2 doubled"),
        (["a"], "a\nb"),
        (["a", "b"], "a"),
        (["a", "...", "c"], "a\nb"),
        ([], "a"),
    ],
)
def test_another_output_is_a_difference(shown: list[str], printed: str) -> None:
    assert difference(shown, printed) is not None


def test_a_line_of_dots_is_any_lines() -> None:
    assert difference(["a", "...", "c", "..."], "a\nb\nb\nc\nd") is None
