"""Detection of a port's speed, line settings and protocol."""

import os
import tomllib
from pathlib import Path

import pytest
from firmware_bridge.serial.detecting import Guess, columns_of, detect, guesses_of

from gateway.process.declarations.serial_line import Line
from tests.bridge.board import board_frame
from tests.bridge.protocols.dlms_meter import AIDON, ciphered, hdlc
from tests.bridge.protocols.input_files import INPUTS
from tests.bridge.running import port_on
from tests.bridge.terminal import Terminal

NMEA = b"$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76\r\n"


def best_of(data: bytes) -> Guess:
    return max(guesses_of(Line(), [data]), key=lambda guess: guess.sure)


def test_protocols_are_distinguished_by_what_reads_most() -> None:
    assert best_of(NMEA * 9).framing == "nmea"
    assert best_of(b"".join(board_frame(n) for n in range(1, 9))).framing == "board"
    assert best_of(b"temperature=21.5\n" * 9).framing == "key_value"
    assert best_of(b'{"a":1}\n' * 9).framing == "json"


def test_few_frames_and_damage_make_it_less_sure() -> None:
    assert Guess(Line(), "json", 20, 0).sure == 1.0
    assert Guess(Line(), "json", 1, 0).sure == 0.2
    assert Guess(Line(), "json", 10, 10).sure == 0.5
    assert Guess(Line(), "json", 0, 3).sure == 0.0


def test_noise_makes_nothing_sure() -> None:
    assert all(guess.sure < 0.2 for guess in guesses_of(Line(), [os.urandom(65536)]))


@pytest.mark.parametrize(
    "line", [b"21,5;40;1013,2\r\n", b"21.5\t40\t1013.2\r\n", b"21.5,40,1013.2,\r\n"]
)
def test_numbers_between_other_separators_are_csv_too(line: bytes) -> None:
    (guess,) = guesses_of(Line(), [line * 7])
    assert (guess.framing, guess.keys.count("column_")) == ("csv", 3)


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"21.5,nan,40\r\n", [21.5, 40]),
        (b"21.5 1013.2 40\r\n", [21.5, 1013.2, 40]),
        (b"21.5 | -- | 40\r\n", [21.5, 40]),
        (b"<21.5,1013.2,40>\r\n", [21.5, 1013.2, 40]),
        (b'"21.5","1013.2","40"\r\n', [21.5, 1013.2, 40]),
        (b"1.5E+00,-2.5E-01,3E2\r\n", [1.5, -0.25, 300]),
        (b"21.5C, 40%, 1013.2hPa\r\n", [21.5, 40, 1013.2]),
    ],
)
def test_lines_that_csv_reads_are_found_as_csv(line: bytes, values: list[float]) -> None:
    (guess,) = guesses_of(Line(), [line * 9])
    assert (guess.framing, guess.keys.count("column_"), guess.sure) == ("csv", 3, 1.0)
    assert guess.latest is not None
    assert [each.value for (each,) in guess.latest.quantities.values()] == values


def test_messages_of_mysensors_are_not_csv() -> None:
    (guess,) = guesses_of(Line(), [b"12;6;1;0;0;36.5\n12;7;1;0;16;1\n" * 4])
    assert guess.framing == "mysensors"


def test_sentences_without_a_checksum_are_found() -> None:
    (guess,) = guesses_of(Line(), [b"$WIMWV,30,R,1.85,M,A\r\n$IIMTW,18.5,C\r\n" * 4])
    assert (guess.framing, guess.keys) == ("nmea", "checksum_required = false\n")


@pytest.mark.parametrize(
    "line", [b"T:21.5 H:40.2\r\n", b"T:21.5,H:40.2\r\n", b"T: 21,5 C, H: 40.2 %\r\n"]
)
def test_pairs_with_colons_are_found_with_a_configuration_that_reads_them(line: bytes) -> None:
    best = best_of(line * 9)
    assert (best.framing, best.sure) == ("key_value", 1.0)
    (table,) = tomllib.loads(best.toml("sensor", 'path = "/dev/ttyUSB0"'))["serial"]
    assert table["value_separator"] == ":"
    assert best.latest is not None
    values = {name: each.value for name, (each,) in best.latest.quantities.items()}
    assert values == {"T": 21.5, "H": 40.2}


def test_messages_of_a_log_are_not_pairs_with_colons() -> None:
    assert guesses_of(Line(), [b"INFO: connected\n12:21:46 started\n" * 5]) == []


def test_lines_of_numbers_are_csv_with_a_name_for_each_column() -> None:
    guess = best_of(b"1013.2\n" + b"21.5, 40,-1013.2\r\n" * 9 + b"21.")
    assert guess.framing == "csv"
    assert guess.sure > 0.8
    table = tomllib.loads(guess.toml("sensor", 'path = "/dev/ttyUSB0"'))["serial"][0]
    assert table["columns"] == ["column_1", "column_2", "column_3"]


def test_one_frame_with_a_strong_checksum_leaves_no_doubt_and_shows_its_values(
    captures: Path,
) -> None:
    for path in (captures / "dsmr" / "telegram_v5.raw", captures / "sml" / "ISKRA_MT175_eHZ.bin"):
        best = best_of(path.read_bytes())
        assert (best.framing, best.sure) == (path.parent.name, 1.0)
        assert best.latest is not None
        assert "energy_import" in " ".join(best.latest.quantities)
    assert best_of((INPUTS / "vedirect.bin").read_bytes()).framing == "vedirect"
    assert best_of((INPUTS / "linky-standard.bin").read_bytes()).framing == "teleinfo"


def test_meters_that_push_dlms_are_detected_also_where_their_key_is_missing() -> None:
    best = best_of(hdlc(AIDON))
    assert (best.framing, best.sure, best.keys) == ("dlms", 1.0, "")
    telegram = b"/XXX5\r\n\r\n" + b"1-0:1.7.0(1*kW)\r\n" * 20 + b"!\r\n"
    for framing, stream in (("dlms", hdlc(ciphered(AIDON))), ("dsmr", ciphered(telegram))):
        best = best_of(stream)
        assert (best.framing, best.sure, best.latest) == (framing, 1.0, None)
        table = tomllib.loads(best.toml("meter", 'path = "/dev/ttyUSB0"'))["serial"][0]
        assert table["key_file"] == "/etc/oncegate/meter-key"


READ_ELSEWHERE = {"DZG_DVS-7420.2V.G2_mtr1_error.bin": "damaged in every telegram"}


def test_every_recording_of_a_real_device_is_what_its_folder_states(captures: Path) -> None:
    found = {
        path: max(guesses_of(Line(), [path.read_bytes()]), key=lambda guess: guess.sure).framing
        for path in sorted(captures.glob("*/*"))
        if path.name not in READ_ELSEWHERE
    }
    assert {path.name: name for path, name in found.items()} == {
        path.name: path.parent.name for path in found
    }
    assert set(found.values()) == {"dsmr", "nmea", "sml"}


def test_a_recording_without_a_sound_telegram_is_nothing_rather_than_something_else(
    captures: Path,
) -> None:
    for name in READ_ELSEWHERE:
        assert guesses_of(Line(), [(captures / "sml" / name).read_bytes()]) == []


def test_a_meter_without_crc_is_distinguished_from_one_whose_crc_is_wrong(captures: Path) -> None:
    old = (captures / "dsmr" / "telegram_v2_2.raw").read_bytes()
    [guess] = guesses_of(Line(9600, 7, "E", 1), [old * 6])
    assert (guess.framing, guess.sure) == ("dsmr", 1.0)
    table = tomllib.loads(guess.toml("meter", 'path = "/dev/ttyUSB0"'))["serial"][0]
    assert table["crc"] is False
    new = (captures / "dsmr" / "telegram_v5.raw").read_bytes()
    [guess] = guesses_of(Line(), [new * 3 + new.replace(b"1-0:1.8.1(0", b"1-0:1.8.1(1") * 3])
    assert (guess.frames, guess.damaged, guess.keys) == (3, 2, "")


@pytest.mark.parametrize(
    "data", [b"", b"21.5\n" * 9, NMEA * 9, b"a,b\n" * 9, b"1," * 500 + b"1\n", b"-- --\n" * 9]
)
def test_what_is_no_line_of_several_numbers_has_no_columns(data: bytes) -> None:
    assert columns_of(data) == ()


async def test_each_line_is_tried_on_the_port(terminal: Terminal) -> None:
    lines = (Line(9600), Line(4800))
    tried = [each async for each in detect(port_on(terminal, "json"), 0.05, lines)]
    assert [(line, count) for line, count, _ in tried] == [(lines[0], 0), (lines[1], 0)]
