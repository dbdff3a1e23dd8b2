"""Conversations with meters of IEC 62056-21: rates, checks, and permitted variations."""

from functools import reduce
from operator import xor

import pytest
from firmware_bridge.protocols.d0 import D0, TELEGRAM_BYTES_MAX, D0Poller
from firmware_bridge.protocols.frame import Damage, Frame, Outcome
from firmware_bridge.protocols.interface import Pause, Request
from hypothesis import given
from hypothesis import strategies as st

from gateway.process.declarations.serial_line import Line

IDENTIFICATION = b"/ISk5MT174-0001\r\n"
OBJECTS = (
    b"F.F(00)\r\n0.0.0(00123456)\r\n0.9.1(120503)\r\nC.1.0(7)\r\n"
    b"1.8.0(000123.456*kWh)\r\n1.8.0*01(000100.000*kWh)\r\n1.8.1(000100.000*kWh)\r\n"
    b"32.7(230.1*V)\r\n1.6.1(00.512*kW)(2401021545)\r\n"
)


def telegram(objects: bytes = OBJECTS) -> bytes:
    content = objects + b"!\r\n\x03"
    return b"\x02" + content + bytes((reduce(xor, content, 0),))


def begun(line: Line = D0.default_line, **keys: object) -> tuple[D0Poller, Request]:
    poller = D0(**keys).poller(line)  # type: ignore[arg-type]
    poller.begin(0.0)
    request = poller.next_step(0.0)
    assert isinstance(request, Request)
    return poller, request


def values(outcome: Outcome | Request | None) -> dict[str, object]:
    assert isinstance(outcome, Frame)
    return {each.name: each.value for found in outcome.quantities.values() for each in found}


def test_a_meter_of_mode_c_is_read_at_the_rate_that_it_offers() -> None:
    poller, request = begun()
    assert (request.data, request.rates) == (b"/?!\r\n", (300, 300))
    assert poller.read(IDENTIFICATION[:9]) is None
    following = poller.read(IDENTIFICATION)
    assert isinstance(following, Request)
    assert (following.data, following.rates) == (b"\x06050\r\n", (300, 9600))
    assert following.before is not None
    assert 0.2 <= following.before.seconds <= 1.5
    data = telegram()
    assert [poller.read(data[:end]) for end in range(1, len(data))] == [None] * (len(data) - 1)
    frame = poller.read(data)
    assert values(frame) == {
        "error_code": "00",
        "meter_number": "00123456",
        "meter_clock": "120503",
        "meter_id": "7",
        "energy_import": 123.456,
        "1-0:1.8.0.01": 100.0,
        "energy_import_t1": 100.0,
        "voltage_l1": 230.1,
        "1-0:1.6.1": 0.512,
    }
    assert isinstance(frame, Frame)
    assert frame.quantities["energy_import"][0].unit == "kWh"
    assert not poller.take_skipped()


@pytest.mark.parametrize(
    ("character", "rates"), [("A", 600), ("B", 1200), ("C", 2400), ("D", 4800), ("E", 9600)]
)
def test_a_meter_of_mode_b_changes_the_rate_by_itself(character: str, rates: int) -> None:
    poller, _ = begun()
    following = poller.read(IDENTIFICATION.replace(b"5", character.encode(), 1))
    assert isinstance(following, Request)
    assert (following.data, following.rates) == (b"", (rates, rates))
    assert values(poller.read(telegram()))["energy_import"] == 123.456


def test_a_meter_of_mode_a_sends_its_telegram_unasked() -> None:
    poller, _ = begun()
    data = IDENTIFICATION.replace(b"5", b"@", 1) + telegram()
    assert all(poller.read(data[:end]) is None for end in range(len(data)))
    assert values(poller.read(data))["energy_import"] == 123.456


def test_a_blank_in_place_of_the_baud_rate_means_mode_a() -> None:
    poller, _ = begun()
    assert values(poller.read(b"/KAM MC\r\n" + telegram()))["energy_import"] == 123.456


def test_lines_may_end_with_lf_alone() -> None:
    for data in (telegram(OBJECTS.replace(b"\r", b"")), OBJECTS.replace(b"\r", b"") + b"!\n"):
        poller, _ = begun()
        assert isinstance(poller.read(IDENTIFICATION.replace(b"\r", b"")), Request)
        assert values(poller.read(data))["energy_import"] == 123.456


def test_the_last_object_may_stand_before_the_exclamation_mark() -> None:
    # Pafal 20EC3gr
    poller, _ = begun()
    poller.read(b"/PAF5EC3gr00006\r\n")
    content = b"1.8.0*00(019446.38)\r\n0.2.2(:::::G11)!\r\n\x03"
    found = poller.read(b"\x02" + content + bytes((reduce(xor, content, 0),)))
    assert values(found) == {"energy_import": 19446.38, "1-0:0.2.2": ":::::G11"}


def test_a_telegram_without_stx_ends_with_its_exclamation_mark() -> None:
    poller, _ = begun()
    poller.read(IDENTIFICATION)
    data = OBJECTS + b"!\r\n"
    assert poller.read(data[:-1]) is None
    assert values(poller.read(data))["energy_import"] == 123.456


@pytest.mark.parametrize(
    ("line", "keys", "acknowledgement", "rates"),
    [
        (Line(300), {"baud_rate_max": 2400}, b"\x06030\r\n", (300, 2400)),
        (Line(300), {"baud_rate_max": 300}, b"\x06000\r\n", (300, 300)),
        (Line(9600), {}, b"\x06050\r\n", (9600, 9600)),
        (Line(9600), {"baud_rate_max": 300}, b"\x06050\r\n", (9600, 9600)),
    ],
)
def test_the_rate_is_at_most_the_configured_one(
    line: Line, keys: dict[str, object], acknowledgement: bytes, rates: tuple[int, int]
) -> None:
    poller, _ = begun(line, **keys)
    following = poller.read(IDENTIFICATION)
    assert isinstance(following, Request)
    assert (following.data, following.rates) == (acknowledgement, rates)


def test_an_optical_head_that_gives_back_what_is_sent_disturbs_nothing() -> None:
    poller, request = begun()
    following = poller.read(request.data + IDENTIFICATION)
    assert isinstance(following, Request)
    assert values(poller.read(following.data + telegram()))["energy_import"] == 123.456


def test_a_telegram_whose_check_is_wrong_is_damage() -> None:
    poller, _ = begun()
    poller.read(IDENTIFICATION)
    assert poller.read(telegram().replace(b"123.456", b"923.456")) == Damage("checksum")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "no_answer"),
        (b"\r\n", "no_answer"),
        (b"\x80\x80", "noise"),
        (IDENTIFICATION.replace(b"5", b"@") + b"\x02F.F(00)", "truncated"),
    ],
)
def test_an_answer_that_is_none_in_time_is_judged_by_what_came(answer: bytes, reason: str) -> None:
    poller, _ = begun()
    assert poller.time_out(answer) == Damage(reason)


def test_an_object_that_cannot_be_read_costs_itself() -> None:
    poller, _ = begun()
    poller.read(IDENTIFICATION)
    found = poller.read(telegram(b"1.8.0(123.4*kWh)\r\n2.8.0(----)\r\nnonsense\r\n"))
    assert values(found) == {"energy_import": 123.4}
    assert poller.take_skipped() == {"not_measured": 1, "syntax": 1}
    assert not poller.take_skipped()


def test_a_meter_with_a_battery_is_asked_seldom_and_woken_up_before() -> None:
    poller, request = begun(wake_up=True, meter_address="00123456", poll_interval=3600.0)
    assert request.data == b"/?00123456!\r\n"
    assert request.before is not None
    assert request.before.data == bytes(66)  # 2.2 s at 300 baud
    assert request.before.seconds == pytest.approx(3.8)
    poller.end(Damage("no_answer"), 5.0)
    assert poller.next_step(5.0) == Pause(3595.0)
    assert isinstance(poller.next_step(3600.0), Request)


def test_a_reading_that_was_missed_is_not_made_up_for() -> None:
    poller, _ = begun(poll_interval=10.0)
    poller.end(Damage("no_answer"), 35.0)
    assert isinstance(poller.next_step(35.0), Request)
    assert poller.next_step(36.0) == Pause(4.0)


def test_a_meter_that_is_silent_costs_seconds_and_one_at_300_baud_may_take_minutes() -> None:
    _, request = begun()
    assert request.silent_seconds_max is not None
    assert request.silent_seconds_max < 3
    assert request.answer_seconds_max > TELEGRAM_BYTES_MAX / 30


@given(st.binary(max_size=400), st.booleans(), st.sampled_from([b"5", b"B", b"@"]))
def test_no_bytes_make_it_raise_and_the_next_conversation_is_read(
    noise: bytes, after_sign_on: bool, character: bytes
) -> None:
    poller, _ = begun(poll_interval=10.0)
    if after_sign_on:
        poller.read(IDENTIFICATION.replace(b"5", character, 1))
    for end in range(len(noise)):
        if (found := poller.read(noise[:end])) is not None:
            break
    else:
        found = poller.time_out(noise)
    if not isinstance(found, Request):
        poller.end(found, 1.0)
    assert isinstance(poller.next_step(10.0), Request)
    poller.read(IDENTIFICATION)
    assert values(poller.read(telegram()))["energy_import"] == 123.456


def test_an_identification_of_7_bits_on_a_line_of_8_names_the_line() -> None:
    poller, _ = begun()
    answer = bytes(e | (0x80 if e.bit_count() % 2 else 0) for e in IDENTIFICATION)
    assert poller.read(answer) is None
    assert poller.time_out(answer) == Damage("parity")
