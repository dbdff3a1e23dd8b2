"""A line that is watched next to the bridge: frames and damage as text."""

from firmware_bridge.protocols.board import Board
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.declared_frames import DeclaredFrames
from firmware_bridge.protocols.dsmr import Dsmr
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.watching import Reading, chunks_of_port

from tests.bridge.board import board_frame
from tests.bridge.running import port_on
from tests.bridge.terminal import Terminal

LEVEL = FrameField(name="level", at=2)


def test_frames_are_a_line_each_and_damage_is_marked_with_its_reason() -> None:
    reading = Reading(JsonLines())
    assert reading.read(b'{"a":1,"b":"x"}\n{"a":\n[]\n{"c"') == ["a=1  b='x'", "!! syntax x2"]
    assert (reading.frames, reading.damaged) == (1, 2)


def test_units_of_the_port_are_shown() -> None:
    reading = Reading(JsonLines(), {"a": "Cel"})
    assert reading.read(b'{"a":1,"b":2}\n') == ["a=1 Cel  b=2"]


def test_a_frame_of_a_board_shows_board_and_number() -> None:
    frames = Reading(Board()).read(board_frame(7))
    assert [frame.split("  ")[0] for frame in frames] == ["board-0000002a #7"]


async def test_a_port_is_read_for_so_long(terminal: Terminal) -> None:
    link = await open_port(port_on(terminal, "json"))
    terminal.send(b"abc")
    assert b"".join([chunk.data async for chunk in chunks_of_port(link, 0.2)]) == b"abc"
    link.close()


async def test_a_silence_is_a_chunk_without_bytes_once_and_completes_what_needs_no_more(
    terminal: Terminal,
) -> None:
    link = await open_port(port_on(terminal, "json"))
    terminal.send(b"abc")
    chunks = [chunk.data async for chunk in chunks_of_port(link, 0.5, silence_seconds=0.05)]
    assert chunks == [b"abc", b""]
    link.close()
    reading = Reading(
        DeclaredFrames(start="42 4D", frame_bytes=6, checksum="none", fields=(LEVEL,))
    )
    assert reading.read(b"BM\x01\x02") == []
    assert reading.read_silence() == ["!! truncated"]


def test_the_limit_that_a_frame_exceeds_is_shown() -> None:
    lines, telegrams = Reading(JsonLines()), Reading(Dsmr())
    lines.read(b"\n")
    assert lines.read(b"x" * 5000) == ["!! overlong: more than 4096 bytes"]
    assert telegrams.read(b"/ISK5" + b"x" * 9000) == ["!! overlong: more than 8192 bytes"]
