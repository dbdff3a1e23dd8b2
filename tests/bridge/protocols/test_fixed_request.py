"""Devices that are polled with fixed bytes: an MH-Z19, a weather station from Davis, a scale."""

import pytest
from firmware_bridge.protocols.checksums import CHECKSUMS
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.declared_frames import DeclaredFrames
from firmware_bridge.protocols.fixed_request import FixedRequestPoller
from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.interface import Pause, Request
from firmware_bridge.protocols.pattern_lines import PatternLines
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from gateway.process.declarations.serial_line import Line

MHZ19 = DeclaredFrames(
    start="FF 86", frame_bytes=9, checksum="sum8_negated", checksum_from=1,
    poll="FF 01 86 00 00 00 00 00 79", poll_interval=5.0,
    fields=(FrameField(name="co2", at=2, type="u16", unit="ppm"),),
)  # fmt: skip
CO2_600 = bytes.fromhex("FF 86 02 58 40 00 00 00 E0")
DAVIS = DeclaredFrames(
    start="4C 4F 4F", frame_bytes=99, byte_order="little", checksum="crc16_xmodem",
    checksum_order="big", poll="4C 4F 4F 50 20 31 0A", wake="0A", wake_pause=1.2,
    fields=(FrameField(name="wind", at=14, type="u8", unit="mph"),),
)  # fmt: skip
EMPTY = DeclaredFrames(
    start="01", frame_bytes=2, checksum="none", poll="05",
    fields=(FrameField(name="humidity", at=1, no_value=(255,)),),
)  # fmt: skip
SCALE = PatternLines(pattern=r"S S +(?P<mass>[0-9.]+) g", poll_text="SI\r\n")


def asked(settings: DeclaredFrames | PatternLines) -> tuple[FixedRequestPoller, Request]:
    poller = settings.poller(Line(9600))
    poller.begin(0.0)
    request = poller.next_step(0.0)
    assert isinstance(request, Request)
    return poller, request


def values(outcome: object) -> dict[str, object]:
    assert isinstance(outcome, Frame)
    return {name: found.value for name, (found,) in outcome.quantities.items()}


def test_a_sensor_is_asked_with_its_bytes_and_its_answer_is_a_frame() -> None:
    poller, request = asked(MHZ19)
    assert request.data == bytes.fromhex("FF0186000000000079")
    assert [poller.read(CO2_600[:end]) for end in range(1, 9)] == [None] * 8
    found = poller.read(CO2_600)
    assert values(found) == {"co2": 600}
    assert isinstance(found, Frame)
    poller.end(found, 0.1)
    assert poller.next_step(1.0) == Pause(4.0)
    assert isinstance(poller.next_step(5.0), Request)
    assert values(poller.read(CO2_600)) == {"co2": 600}


def test_an_echo_of_the_request_and_noise_before_the_answer_are_passed_over() -> None:
    poller, request = asked(MHZ19)
    assert values(poller.read(b"\x00" + request.data + CO2_600)) == {"co2": 600}


def test_a_station_is_woken_up_before_each_request() -> None:
    poller, request = asked(DAVIS)
    assert request.before is not None
    assert (request.before.data, request.before.seconds) == (b"\n", 1.2)
    content = b"LOO" + bytes(11) + b"\x07" + bytes(82)
    crc = CHECKSUMS["crc16_xmodem"].of(content).to_bytes(2, "big")
    assert values(poller.read(b"\x06" + content + crc)) == {"wind": 7}


def test_a_scale_answers_a_text_with_a_line() -> None:
    poller, request = asked(SCALE)
    assert request.data == b"SI\r\n"
    assert poller.read(b"S S     100.0") is None
    assert values(poller.read(b"S S     100.05 g\r\n")) == {"mass": 100.05}


@pytest.mark.parametrize(
    ("settings", "answer", "reason"),
    [
        (MHZ19, b"", "no_answer"),
        (MHZ19, b"\x00\x00", "noise"),
        (MHZ19, CO2_600[:5], "truncated"),
        (MHZ19, CO2_600[:-1] + b"\x00", "checksum"),
        (SCALE, b"S I\r\n", "pattern"),
    ],
)
def test_what_is_no_answer_is_damage_when_its_time_is_over(
    settings: DeclaredFrames | PatternLines, answer: bytes, reason: str
) -> None:
    poller, _ = asked(settings)
    if answer:
        assert poller.read(answer) is None
    found = poller.time_out(answer)
    assert found == Damage(reason)
    poller.end(found, 1.0)
    poller.next_step(20.0)
    assert poller.time_out(b"") == Damage("no_answer"), "the next answer is judged by itself"


@pytest.mark.parametrize(
    ("settings", "answer", "reason"),
    [
        (PatternLines(pattern=r"T=(?P<t>\S+)", poll_text="?"), b"T=nan\r\n", "not_measured"),
        (EMPTY, b"\x01\xff", "no_value"),
    ],
)
def test_a_response_without_any_value_is_a_response(
    settings: DeclaredFrames | PatternLines, answer: bytes, reason: str
) -> None:
    poller, _ = asked(settings)
    assert poller.read(answer[:1]) is None
    assert values(poller.read(answer)) == {}
    assert poller.take_skipped() == {reason: 1}
    poller.next_step(100.0)
    assert poller.time_out(b"") == Damage("no_answer")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"poll": "05", "poll_text": "a"}, "either poll or poll_text"),
        ({"wake": "0A", "given": frozenset({"wake"})}, "poll with wake"),
        ({"poll_interval": 1.0, "given": frozenset({"poll_interval"})}, "poll with poll_interval"),
        ({"poll": "05", "given": frozenset({"wake_pause"})}, "wake with wake_pause"),
    ],
)
def test_keys_that_ask_for_nothing_are_refused(keys: dict[str, object], words: str) -> None:
    settings = PatternLines(pattern="(?P<a>.)", **keys)  # type: ignore[arg-type]
    with pytest.raises(PydanticCustomError, match=words):
        settings.check()


def test_a_protocol_without_a_request_listens() -> None:
    assert not PatternLines(pattern="(?P<a>.)").is_polled
    assert MHZ19.is_polled


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_no_bytes_make_it_raise_and_the_next_answer_is_read(pieces: list[bytes]) -> None:
    poller, _ = asked(MHZ19)
    answer = b""
    for piece in pieces:
        answer += piece
        if poller.read(answer) is not None:
            break
    else:
        poller.time_out(answer)
    poller.next_step(100.0)
    assert values(poller.read(CO2_600)) == {"co2": 600}
