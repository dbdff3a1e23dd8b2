"""Recordings of real meters through pseudo-terminals at full speed; independent parsers say what
is in them.

A recording begins and ends anywhere, and some have transmission errors: what an oracle cannot read
has to be counted as damage, and everything that it can has to arrive, once and in order.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from smllib.errors import CrcError
from smllib.reader import SmlStreamReader

from tests.bridge.broker import Subscriber
from tests.bridge.dsmr_oracle import objects_of, value_of
from tests.bridge.running import port_of, running_bridge, settings_of
from tests.bridge.terminal import Terminal

SML_DAMAGE = {
    "DZG_DVS-7420.2V.G2_mtr1_error.bin": {"truncated": 8},
    "EMH-ED300L_consumption.bin": {"truncated": 1},
    "EMH_eHZ-IW8E2A5L0EK2P_with_error.bin": {"truncated": 1},
    "EasyMeter_Q3A_A1064V1009.bin": {"truncated": 3, "checksum": 1},
    "HOLLEY_DTZ541-ZDBA.bin": {"truncated": 1},
    "ISKRA_MT175_eHZ.bin": {"truncated": 1},
}
DSMR = {"telegram_v2_2.raw": "V2_2", "telegram_v4_2.raw": "V4", "telegram_v5.raw": "V5"}
REPEATS = 5


async def readings_of(
    framing: str, recorded: bytes, count: int, damaged: dict[str, int], *,
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path, **keys: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """What the broker's subscriber gets of a recording; nothing more than `count` comes."""
    port = port_of("meter", terminal.link, framing, **keys)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        await room.wait_for_port("meter", "open")
        await terminal.write(recorded)
        await subscriber.arrival_of(count)
        # What is left of a file at the end of a recording is damage when the line is silent.
        await room.wait_until(lambda room: room.port("meter").get("damaged") == damaged)
        await room.wait_until(lambda room: room.status["outbox"]["published"] == count)
        assert room.port("meter")["bytes"] == len(recorded)
    await subscriber.settled()
    records = subscriber.records()
    assert len(records) == count
    return records


def sml_values_of(recorded: bytes) -> list[Any]:
    """What smllib finds, in order: numbers scaled, other values in hexadecimal digits.

    Its own objects are not made: they refuse a whole file in which one value is not there.
    """
    reader = SmlStreamReader()
    reader.add(recorded)
    found: list[Any] = []
    while True:
        try:
            frame = reader.get_frame()
        except CrcError:
            continue
        if frame is None:
            return found
        while frame.next_pos < frame.buf_len:
            message = plain(frame._parse_msg(frame.get_value()))
            tag, body = message[3]
            for _, _, _, _, scaler, value, _ in body[4] if tag == 0x0701 else ():
                if value is not None:
                    is_number = isinstance(value, int)
                    found.append(value * 10 ** (scaler or 0) if is_number else value)


def plain(snippet: Any) -> Any:
    value = snippet.value
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SML_DAMAGE)
async def test_sml_recordings_give_what_smllib_finds(
    name: str, captures: Path, subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    recorded = (captures / "sml" / name).read_bytes()
    expected = sml_values_of(recorded)
    records = await readings_of(
        "sml", recorded, len(expected), SML_DAMAGE[name],
        subscriber=subscriber, terminal=terminal, tmp_path=tmp_path,
    )  # fmt: skip
    for record, value in zip(records, expected, strict=True):
        if isinstance(value, str):
            assert value in (record["vs"], record["vs"].encode().hex())
        else:
            assert record["v"] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", DSMR)
async def test_dsmr_recordings_give_what_dsmr_parser_finds(
    name: str, captures: Path, subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    recorded = (captures / "dsmr" / name).read_bytes()
    text = recorded.decode("ascii")
    # An object a line, but for empty ones; of DSMR 2.2 the last reading takes two lines.
    lines = re.findall(r"^\d[^(]*(?:\([^()]*\))*", text, re.MULTILINE)
    count = sum(not line.endswith("()") for line in lines)
    with_crc = not name.startswith("telegram_v2")
    broken = recorded.replace(b"1.8.1(0", b"1.8.1(1")
    damaged = {"checksum": 1} if with_crc else {}
    before = broken if with_crc else b""
    records = await readings_of(
        "dsmr", before + recorded * REPEATS, count * REPEATS, damaged,
        subscriber=subscriber, terminal=terminal, tmp_path=tmp_path, crc=with_crc,
    )  # fmt: skip
    expected = objects_of(text, DSMR[name])
    assert sorted({record["sequence"] for record in records}) == [*range(1, REPEATS + 1)]
    for repeat in range(1, REPEATS + 1):
        telegram = {
            record["n"].partition("/")[2]: record
            for record in records
            if record["sequence"] == repeat
        }
        assert len(telegram) == count, "no object comes twice"
        assert telegram.keys() == expected.keys()
        for quantity, (value, unit, seconds) in expected.items():
            record = telegram[quantity]
            assert value_of(quantity, record.get("v", record.get("vs"))) == value, quantity
            assert record.get("u") == unit, quantity
            # Times of DSMR 2.2 have no S or W, so that they are not used: the arrival's is.
            if with_crc:
                own = expected["meter_time"][0] if seconds is None else seconds
                assert record["t"] == own, quantity


def test_the_recordings_of_the_folders_are_all_replayed(captures: Path) -> None:
    assert sorted(path.name for path in (captures / "sml").iterdir()) == sorted(SML_DAMAGE)
    assert sorted(path.name for path in (captures / "dsmr").iterdir()) == sorted(DSMR)
