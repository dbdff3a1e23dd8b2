"""Conversations with M-Bus meters: selection, request, several telegrams, and errors."""

from dataclasses import replace

import pytest
from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.interface import Pause, Request
from firmware_bridge.protocols.mbus import TELEGRAMS_MAX, MBus, MBusMeter, MBusPoller
from pydantic_core import PydanticCustomError

from gateway.process.declarations.serial_line import Line
from tests.bridge.protocols.test_mbus_frame import ANSWER
from tests.bridge.protocols.test_mbus_security import CIPHERTEXT, HEADER, KEY

ACK = b"\xe5"


def telegram(records: str, address: int = 2) -> bytes:
    content = bytes((8, address)) + ANSWER[6:19] + bytes.fromhex(records)
    size = bytes((len(content),))
    return b"h" + size + size + b"h" + content + bytes((sum(content) & 0xFF, 0x16))


def begun(*meters: MBusMeter) -> tuple[MBusPoller, Request]:
    poller = MBus(meters=meters, poll_interval=60.0).poller(None)
    poller.begin(0.0)
    request = poller.next_step(0.0)
    assert isinstance(request, Request)
    return poller, request


PRIMARY = MBusMeter(name="water", address=2)
PRIMARY_OF_OTHER = MBusMeter(name="heat", address=3)
SECONDARY = MBusMeter(name="water", secondary="12345678")


def values(outcome: object) -> dict[str, object]:
    assert isinstance(outcome, Frame)
    return {name: found.value for name, (found,) in outcome.quantities.items()}


def test_a_meter_with_a_primary_address_is_initialised_and_asked() -> None:
    poller, request = begun(PRIMARY)
    assert request.data == bytes.fromhex("1040024216")
    following = poller.read(ACK)
    assert isinstance(following, Request)
    assert following.data == bytes.fromhex("107B027D16")
    found = poller.read(ANSWER)
    assert isinstance(found, Frame)
    assert found.device == "water"
    assert values(found) == {
        "meter_number": "12345678",
        "manufacturer": "PAD",
        "medium": "water",
        "meter_status": 0,
        "water_volume": 12.565,
        "volume_flow_max_storage_5": 0.113,
        "energy_t2_unit_1": 218.37,
    }
    poller.end(found, 3.0)
    assert poller.next_step(3.0) == Pause(57.0)


def test_an_encrypting_meter_is_read_with_its_key() -> None:
    meter = MBusMeter(name="gas", address=2, key_file="/k")
    settings = MBus(meters=(meter, PRIMARY_OF_OTHER)).with_secrets(lambda *_: KEY.hex())
    assert (settings.meters[0].key, settings.meters[1].key) == (KEY, None)
    assert KEY.hex() not in repr(settings)
    content = bytes((8, 2, 0x72)) + HEADER + CIPHERTEXT
    size = bytes((len(content),))
    answer = b"h" + size + size + b"h" + content + bytes((sum(content) & 0xFF, 0x16))
    for meters, expected in (
        (settings.meters, {"meter_number": "12345678", "medium": "gas", "gas_volume": 28504.27}),
        ((meter,), "encrypted"),
        ((replace(settings.meters[0], key=bytes(16)),), "key"),
    ):
        poller, _ = begun(*meters)
        poller.read(ACK)
        found = poller.read(answer)
        if isinstance(found, Request):  # it asks once more
            found = poller.read(answer)
        if isinstance(expected, str):
            assert found == Damage(expected)
        else:
            assert expected.items() <= values(found).items()


def test_a_meter_is_selected_by_its_number() -> None:
    poller, request = begun(SECONDARY)
    assert request.data[:8] == bytes.fromhex("680B0B6853FD5278")
    following = poller.read(ACK)
    assert isinstance(following, Request)
    assert following.data == bytes.fromhex("107BFD7816")
    assert values(poller.read(ANSWER))["water_volume"] == 12.565


def test_another_meter_s_answer_is_no_reading() -> None:
    poller, _ = begun(MBusMeter(name="water", secondary="87654321"))
    poller.read(ACK)
    assert poller.read(ANSWER) == Damage("address")
    poller, _ = begun(MBusMeter(name="water", address=3))
    poller.read(ACK)
    assert poller.read(ANSWER) == Damage("address")


def test_further_telegrams_are_asked_for_and_belong_to_one_reading() -> None:
    poller, _ = begun(PRIMARY)
    poller.read(ACK)
    second = poller.read(telegram("04 06 01000000 1f"))
    assert isinstance(second, Request)
    assert second.data == bytes.fromhex("105B025D16"), "the toggle changes"
    third = poller.read(telegram("02 2b 0a00 1f"))
    assert isinstance(third, Request)
    assert third.data == bytes.fromhex("107B027D16")
    found = values(poller.read(telegram("42 6c 3f3c")))
    assert (found["energy"], found["power"], found["date_storage_1"]) == (1, 10, "2025-12-31")


def test_a_meter_whose_telegrams_have_no_end_is_left() -> None:
    poller, _ = begun(PRIMARY)
    found = poller.read(ACK)
    for _ in range(TELEGRAMS_MAX):
        assert isinstance(found, Request)
        found = poller.read(telegram("04 06 01000000 1f"))
    assert isinstance(found, Frame)


def test_a_meter_that_does_not_acknowledge_is_polled_nevertheless() -> None:
    poller, _ = begun(PRIMARY)
    assert poller.read(b"\x10") is None
    following = poller.time_out(b"")
    assert isinstance(following, Request)
    assert following.data == bytes.fromhex("107B027D16")
    again = poller.time_out(b"")
    assert isinstance(again, Request)
    assert again.data == following.data, "once more, with the same toggle"
    assert poller.time_out(b"") == Damage("no_answer")


def test_a_number_that_no_meter_has_is_selected_twice() -> None:
    poller, request = begun(SECONDARY)
    again = poller.time_out(b"")
    assert isinstance(again, Request)
    assert again.data == request.data
    assert poller.time_out(b"") == Damage("no_answer")


def test_a_damaged_telegram_is_asked_for_again() -> None:
    poller, _ = begun(PRIMARY)
    poller.read(ACK)
    damaged = ANSWER[:-2] + b"\x19\x16"
    again = poller.read(damaged)
    assert isinstance(again, Request)
    assert again.data == bytes.fromhex("107B027D16")
    assert poller.read(damaged) == Damage("checksum")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({6: 0x70}, "refused"),
        ({6: 0x73}, "form"),
        ({17: 0x10, 18: 0x05}, "encrypted"),
    ],
)
def test_an_answer_that_has_no_values_is_named(change: dict[int, int], reason: str) -> None:
    answer = bytearray(ANSWER)
    for at, byte in change.items():
        answer[at] = byte
    answer[-2] = sum(answer[4:-2]) & 0xFF
    poller, _ = begun(PRIMARY)
    poller.read(ACK)
    found = poller.read(bytes(answer))
    if isinstance(found, Request):
        found = poller.read(bytes(answer))
    assert found == Damage(reason)


def test_meters_are_read_one_after_the_other() -> None:
    other = MBusMeter(name="heat", address=7, poll_interval=600.0)
    poller, _ = begun(PRIMARY, other)
    poller.read(ACK)
    frame = poller.read(ANSWER)
    assert isinstance(frame, Frame)
    poller.end(frame, 1.0)
    request = poller.next_step(1.0)
    assert isinstance(request, Request)
    assert request.device == "heat"
    poller.end(Damage("no_answer"), 5.0)
    assert poller.next_step(5.0) == Pause(55.0)


def test_the_line_is_2400_8e1_and_seconds_follow_its_rate() -> None:
    assert MBus.default_line == Line(2400, 8, "E", 1)
    _, request = begun(PRIMARY)
    assert request.silent_seconds_max == pytest.approx(1.0 + 5 * 11 / 2400)


@pytest.mark.parametrize(
    ("meters", "words"),
    [
        ((PRIMARY, PRIMARY), "name water once"),
        ((PRIMARY, MBusMeter(name="b", address=2)), "address 2 once"),
        ((SECONDARY, MBusMeter(name="b", secondary="12345678")), "secondary 12345678 once"),
    ],
)
def test_one_name_or_address_for_two_meters_is_refused(
    meters: tuple[MBusMeter, ...], words: str
) -> None:
    with pytest.raises(PydanticCustomError, match=words):
        MBus(meters=meters).check()
    with pytest.raises(PydanticCustomError, match="either address or secondary"):
        MBusMeter(name="a").check()


def test_a_further_telegram_that_does_not_arrive_costs_itself() -> None:
    for bad in (b"", telegram("04 06 01000000")[:-2] + b"\0\x16", telegram("04 06 0100", 9)):
        poller, _ = begun(PRIMARY)
        poller.read(ACK)
        assert isinstance(poller.read(telegram("04 13 01000000 1f")), Request)
        found = poller.read(bad) if bad else poller.time_out(bad)
        if isinstance(found, Request):  # it asks once more
            found = poller.read(bad) if bad else poller.time_out(bad)
        assert values(found)["water_volume"] == 0.001
        assert poller.take_skipped() == {"truncated": 1}


def test_another_value_of_the_same_name_in_a_further_telegram_is_counted() -> None:
    poller, _ = begun(PRIMARY)
    poller.read(ACK)
    poller.read(telegram("04 06 01000000 02 59 0a00 1f"))
    found = poller.read(telegram("04 06 02000000 02 59 0a00"))
    assert values(found)["energy"] == 1
    assert poller.take_skipped() == {"name": 1}
