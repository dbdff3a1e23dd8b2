"""NMEA 0183 sentences from damaged and mixed streams."""

from functools import reduce
from operator import xor

import pytest
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.nmea import SENTENCE_BYTES_MAX, Nmea, NmeaDecoder
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces


def sentence(body: str, start: str = "$", end: bytes = b"\r\n") -> bytes:
    content = body.encode("latin-1")
    return start.encode() + content + b"*%02X" % reduce(xor, content, 0) + end


def ubx(payload: bytes) -> bytes:
    content = b"\x01\x07" + len(payload).to_bytes(2, "little") + payload
    first = second = 0
    for byte in content:
        first = (first + byte) & 0xFF
        second = (second + first) & 0xFF
    return b"\xb5\x62" + content + bytes((first, second))


GGA = sentence("GPGGA,214350,4023.8600,N,00339.1630,W,8,09,2.0,695.7,M,51.6,M,,")
RMC = sentence("GNRMC,193334.00,A,4404.13124,N,12118.84810,W,0.014,,310725,,,A,V")


def quantities(frames: list[Frame]) -> list[str]:
    return [name for frame in frames for name in frame.quantities]


@pytest.mark.parametrize("body", ["GPXYZ,1,2,3", "PUBX", "", "GNTXT,01,01,02,gr\xfc\xdfe!"])
def test_a_good_checksum_makes_one_frame(body: str) -> None:
    framing = NmeaDecoder()
    assert len(framing.feed(sentence(body))) == 1
    assert not framing.tally.damaged


def test_an_ais_sentence_and_a_tag_block_are_read() -> None:
    framing = NmeaDecoder()
    ais = sentence("AIVDM,1,1,,A,15MgK45P3@G?fl0E`JbR0OwT0@MS,0", start="!")
    assert quantities(framing.feed(b"\\s:r003669945*5F\\" + ais + GGA)) == ["vdm", "gga"]
    assert not framing.tally.damaged


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (GGA.replace(b"214350", b"214351"), "checksum"),
        (b"$GPGGA,214350,4023\r\n", "no_checksum"),
        (b"$GPGGA,214350,4023*5\r\n", "truncated"),
        (b"$GPGGA,214350,40", "truncated"),
        (b"$GPGGA,21\x0035,40*12\r\n", "truncated"),
        (GGA[1:], "syntax"),
        (b"rubbish\r\n", "syntax"),
        (b"$" + b"x" * SENTENCE_BYTES_MAX + b"\r\n", "overlong"),
        (b"$" + b"x" * (5 * SENTENCE_BYTES_MAX) + b"\r\n", "overlong"),
    ],
)
def test_damage_is_counted_once_and_the_next_sentence_is_read(damage: bytes, reason: str) -> None:
    framing = NmeaDecoder()
    assert quantities(framing.feed(damage + RMC)) == ["rmc"]
    assert framing.tally.damaged == {reason: 1}
    slow = NmeaDecoder()
    found = [each for byte in damage + RMC for each in slow.feed(bytes((byte,)))]
    assert quantities(found) == ["rmc"]
    assert slow.tally.damaged == {reason: 1}


def test_a_sentence_that_lost_its_line_end_is_still_read() -> None:
    framing = NmeaDecoder()
    assert quantities(framing.feed(GGA[:-2] + RMC)) == ["gga", "rmc"]
    assert not framing.tally.damaged


def test_a_sentence_inside_a_damaged_one_is_found() -> None:
    framing = NmeaDecoder()
    ais = sentence("AIVDM,1,1,,A,1,0", start="!")
    assert quantities(framing.feed(b"$GPGGA,2143" + ais)) == ["vdm"]
    assert framing.tally.damaged == {"checksum": 1}


def test_ubx_frames_between_sentences_are_foreign_and_no_damage() -> None:
    framing = NmeaDecoder()
    hostile_payload = b"$GPGGA,1*00\r\n" + b"\xb5\x62" + bytes(range(256))
    stream = GGA + ubx(hostile_payload) + RMC + ubx(b"") + GGA
    assert quantities(framing.feed(stream)) == ["gga", "rmc", "gga"]
    assert not framing.tally.damaged
    assert framing.tally.foreign == {"ubx": 2}


def test_a_broken_ubx_frame_does_not_swallow_the_sentences_in_its_length() -> None:
    framing = NmeaDecoder()
    broken = ubx(bytes(1000))[:40]
    assert quantities(framing.feed(broken + GGA + RMC)) == []
    assert quantities(framing.flush()) == ["gga", "rmc"]
    assert framing.tally.foreign["ubx_damaged"] == 1
    assert not framing.tally.damaged


def test_a_ubx_length_that_no_frame_has_is_not_waited_for() -> None:
    framing = NmeaDecoder()
    assert quantities(framing.feed(b"\xb5\x62\x01\x07\xff\xff" + GGA)) == ["gga"]


def test_a_sentence_is_complete_without_line_end_once_the_line_is_silent() -> None:
    framing = NmeaDecoder()
    assert framing.feed(GGA[:-2]) == []
    assert quantities(framing.flush()) == ["gga"]


def test_silence_within_a_sentence_does_not_break_it() -> None:
    framing = NmeaDecoder()
    assert framing.feed(GGA[:20]) == []
    assert framing.flush() == []
    assert quantities(framing.feed(GGA[20:])) == ["gga"]


@given(st.lists(st.sampled_from([GGA, RMC, ubx(b"$$!\xb5\x62"), b"$", b"*5A", b"\xb5", b"\r\n"])))
def test_any_mixture_gives_the_same_frames_in_any_pieces(parts: list[bytes]) -> None:
    stream = b"".join(parts) + b"\r\n"
    whole, slow = NmeaDecoder(), NmeaDecoder()
    expected = whole.feed(stream) + whole.flush()
    found = [each for byte in stream for each in slow.feed(bytes((byte,)))] + slow.flush()
    assert found == expected
    assert slow.tally == whole.tally


@given(st.lists(st.binary(max_size=300), max_size=20), st.text(max_size=80))
def test_no_bytes_make_the_framing_raise_or_lose_the_next_sentence(
    noise: list[bytes], body: str
) -> None:
    framing = NmeaDecoder()
    for piece in noise:
        framing.feed(piece)
    framing.flush()
    content = body.encode("latin-1", "ignore").decode("latin-1")
    framing.feed(sentence(content))
    framing.feed(b"\r\n")
    framing.flush()
    assert quantities(framing.feed(GGA) + framing.flush())[-1:] == ["gga"]


def sentences(*lines: bytes, required: bool = False) -> tuple[list[str], dict[str, int]]:
    """Decode lines, and return the names of the quantities read and the counts of damage."""
    stream = b"".join(line + b"\r\n" for line in lines)
    decoder = Nmea(checksum_required=required).decoder()
    frames = check_any_pieces(Nmea(checksum_required=required).decoder, stream)
    assert decoder.feed(stream) == frames
    return [name for frame in frames for name in frame.quantities], dict(decoder.tally.damaged)


def test_a_sentence_without_a_checksum_is_damage_unless_none_is_required() -> None:
    assert sentences(b"$IIMWV,30,T,1.85,M,A", b"$iimwv,31,T,1.85,M,A") == (["mwv", "mwv"], {})
    assert sentences(b"$IIMWV,30,T,1.85,M,A", required=True) == ([], {"no_checksum": 1})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"$IIMWV,30,T,1.85,M,A*00", "checksum"),
        (b"$IIMWV,30,T,1.85,M,A*", "truncated"),
        (b"$IIMWV,30,T,1.85,M,\xff", "no_checksum"),
        (b"$,1,2", "no_checksum"),
        (b"$IIMWV,30,T$IIMWV,3,T,1.85,M,A*00", "truncated"),
    ],
)
def test_where_no_checksum_is_required_a_wrong_or_cut_one_is_damage(
    line: bytes, reason: str
) -> None:
    found, damaged = sentences(line)
    assert (found, list(damaged)) == ([], [reason])


def test_a_sentence_that_has_come_with_a_checksum_is_cut_where_it_comes_without() -> None:
    whole = b"$GPGGA,092725.00,4717.11399,N,00833.91590,E,1,08,1.01,499.6,M,48.0,M,,*5B"
    assert sentences(whole, whole[:30]) == (["gga"], {"no_checksum": 1})
    assert sentences(whole[:30]) == (["gga"], {})
