"""Frames of French meters from damaged streams."""

import pytest
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.teleinfo import FRAME_BYTES_MAX, Teleinfo
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces, check_good_frame_survives


def standard(*parts: str) -> bytes:
    content = "".join(f"{part}\t" for part in parts).encode("latin-1")
    return b"\n" + content + bytes(((sum(content) & 0x3F) + 0x20,)) + b"\r"


def historic(label: str, value: str) -> bytes:
    content = f"{label} {value}".encode()
    return b"\n" + content + b" " + bytes(((sum(content) & 0x3F) + 0x20,)) + b"\r"


def frame_of(*groups: bytes) -> bytes:
    return b"\x02" + b"".join(groups) + b"\x03"


ENERGY = standard("EAST", "015377101")
OTHER = frame_of(standard("EAST", "015377102"))


def make() -> Decoder:
    return Teleinfo().decoder()


def energies(frames: list[Frame]) -> list[object]:
    return [each.value for frame in frames for each in frame.quantities.get("energy_import", [])]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (ENERGY, Measurement("energy_import", 15377101, "Wh")),
        (standard("ADSC", "000000000000"), Measurement("meter_id", "000000000000")),
        (standard("SMAXSN", "H230112084949", "04536"),
         Measurement("apparent_power_max", 4536, "VA", 1673509789.0)),
        (standard("SMAXSN", "E230712084949", "04536"),
         Measurement("apparent_power_max", 4536, "VA", 1689144589.0)),
        (standard("SMAXSN", "e230712084949", "04536"),
         Measurement("apparent_power_max", 4536, "VA")),
        (standard("NTARF", "01"), Measurement("tariff_number", "01")),
        (standard("XNEW", "5"), Measurement("XNEW", 5)),
        (historic("ADCO", "012345678901"), Measurement("meter_id", "012345678901")),
        (historic("BASE", "012345678"), Measurement("energy_import", 12345678, "Wh")),
        (historic("PTEC", "TH.."), Measurement("tariff", "TH..")),
        (historic("PAPP", "00750"), Measurement("apparent_power", 750, "VA")),
        (historic("BBRHPJB", "001234567"), Measurement("energy_import_blue_peak", 1234567, "Wh")),
        (historic("ADIR2", "046"), Measurement("current_excess_l2", 46, "A")),
        (historic("PPOT", "00"), Measurement("phase_potentials", "00")),
        (historic("IINST", "003"), Measurement("current", 3, "A")),
        (standard("DPM1", "H240125060000", "00"),
         Measurement("mobile_peak_start_1", "H240125060000")),
        (standard("FPM3", "E240726060000", "01"),
         Measurement("mobile_peak_end_3", "E240726060000")),
        # PME-PMI meters of companies
        (historic("ADS", "041367000000"), Measurement("meter_id", "041367000000")),
        (historic("EA_s", "1122Wh"), Measurement("EA_s", 1122, "Wh")),
        (historic("ER+_s", "123varh"), Measurement("ER__s", 123, "varh")),
        (historic("EAP_s", "13000kWh"), Measurement("EAP_s", 13000, "kWh")),
        (historic("PS", "20kVA"), Measurement("PS", 20, "kVA")),
        (historic("U10MN", "229V"), Measurement("U10MN", 229, "V")),
        (historic("DebP", "13/01/16 12:00:00"), Measurement("DebP", "13/01/16 12:00:00")),
        (historic("MESURES1", "BT 5 SUP36"), Measurement("MESURES1", "BT 5 SUP36")),
    ],
)  # fmt: skip
def test_a_group_of_both_modes_becomes_a_measurement(group: bytes, expected: Measurement) -> None:
    (frame,) = make().feed(frame_of(group))
    assert frame.quantities == {expected.name: [expected]}


def test_the_time_of_the_frame_holds_for_groups_without_one() -> None:
    (frame,) = make().feed(frame_of(ENERGY, standard("DATE", "H260124170225", "")))
    assert frame.quantities["energy_import"][0].time_seconds == 1769270545.0
    assert frame.quantities["meter_time"][0].value == "H260124170225"


def test_a_checksum_that_is_a_space_is_one() -> None:
    wanted = next(
        found
        for code in range(0x21, 0x7F)
        if (found := historic("PTEC", f"A{chr(code)}"))[-2] == 0x20
    )
    assert len(make().feed(frame_of(wanted))) == 1


def test_a_group_with_a_wrong_checksum_costs_itself() -> None:
    decoder = make()
    (frame,) = decoder.feed(
        frame_of(ENERGY.replace(b"0153", b"9153"), b"\nx\r", standard("SINSTS", "00766"))
    )
    assert list(frame.quantities) == ["apparent_power"]
    assert decoder.tally.damaged == {"checksum": 1, "syntax": 1}


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        (standard("EAST", ""), "not_measured"),
        (standard("EAST", "many"), "type"),
        (standard("MSG1", "\xe9"), "text"),
        (standard("EAST"), "syntax"),
        (historic("PTEC", ""), "not_measured"),
    ],
)
def test_a_value_that_cannot_be_read_costs_itself(group: bytes, reason: str) -> None:
    decoder = make()
    (frame,) = decoder.feed(frame_of(group, standard("SINSTS", "00766")))
    assert list(frame.quantities) == ["apparent_power"]
    assert (decoder.tally.damaged, decoder.tally.skipped) == ({}, {reason: 1})


def test_two_frames_that_lost_what_was_between_them_are_never_one() -> None:
    decoder = make()
    first, second = (
        (standard("EAST", energy), standard("DATE", time, ""))
        for energy, time in (("015377101", "H260124170225"), ("015377102", "H260124170226"))
    )
    assert energies(decoder.feed(frame_of(*first, *second) + OTHER)) == [15377102]
    assert decoder.tally.damaged == {"truncated": 1}


def test_a_frame_cut_by_opening_the_port_or_too_long_is_not_read() -> None:
    decoder = make()
    decoder.begin(mid_line=True)
    assert energies(decoder.feed(ENERGY + b"\x03" + OTHER)) == [15377102]
    assert energies(decoder.feed(b"\x02" + b"x" * (FRAME_BYTES_MAX + 1) + OTHER)) == [15377102]
    assert decoder.tally.damaged == {"overlong": 1}


@given(st.lists(st.sampled_from([OTHER, ENERGY, ENERGY[:9], b"\x02", b"\x03", b"\x04", b"\r"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))


@given(st.lists(st.binary(max_size=300), max_size=10))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_frame(noise: list[bytes]) -> None:
    check_good_frame_survives(make, noise, b"\x03" + OTHER, make().feed(OTHER))


def test_groups_of_7_bits_on_a_line_of_8_name_the_line() -> None:
    decoder = Teleinfo().decoder()
    decoder.begin(mid_line=False)
    frame = frame_of(historic("ADCO", "021528603314"), historic("PAPP", "00750"))
    assert decoder.feed(bytes(e | (0x80 if e.bit_count() % 2 else 0) for e in frame)) == []
    assert decoder.tally.damaged == {"parity": 2, "syntax": 1}  # the STX is not one
