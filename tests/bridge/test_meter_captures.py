"""Recordings of real meters, replayed through pseudo-terminals at full speed and compared with
independent parsers.

A recording begins and ends anywhere, and some have transmission errors. The bridge has to count as
damage what the parser cannot read, and to publish everything else once and in order.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.cosem import UNITS_OF_DLMS
from firmware_bridge.readings.device_clock import EARLIEST_LOGGED
from smllib.const import OBIS_NAMES, UNITS
from smllib.errors import CrcError
from smllib.reader import SmlStreamReader

from gateway.process.declarations.units import UNITS as SENML
from tests.bridge.broker import Subscriber
from tests.bridge.dsmr_oracle import entries_of, objects_of, value_of
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
SENML_UNITS = {"°C": "Cel", "°": "deg", "m³": "m3", "m³/h": "m3/h", "\N{OHM SIGN}": "Ohm"}
SML_NAMES = {
    "Geräteeinzelidentifikation": "server_id",
    "Zählerstand Bezug Total": "energy_import",
    "Zählerstand Bezug Tarif 1": "energy_import_t1",
    "Zählerstand Bezug Tarif 2": "energy_import_t2",
    "Zählerstand Einspeisung Total": "energy_export",
    "Zählerstand Einspeisung Tarif 1": "energy_export_t1",
    "Zählerstand Einspeisung Tarif 2": "energy_export_t2",
    "Netzfrequenz": "frequency",
    "aktuelle Wirkleistung": "power",
    "Hersteller-Identifikation": "manufacturer",
    "Öffentlicher Schlüssel": "public_key",
    **{
        f"{theirs} L{phase}": f"{ours}_l{phase}"
        for phase in (1, 2, 3)
        for theirs, ours in {
            "Summenwirkleistung": "power",
            "Momentanwirkleistung Bezug": "power_import",
            "Momentanwirkleistung Einspeisung": "power_export",
            "Momentanstrom": "current",
            "Momentanspannung": "voltage",
        }.items()
    },
}
"""The bridge's name for each of smllib's names. Values without a name have their code."""
SML_CODES = {
    "01000f0700ff": "power_absolute",
    "0100600100ff": "meter_id",
    "0100000000ff": "meter_number",
    "010060320101": "manufacturer",
}
"""The bridge's names for codes that smllib has no name for."""
DSMR = {"telegram_v2_2.raw": "V2_2", "telegram_v4_2.raw": "V4", "telegram_v5.raw": "V5"}
REPEATS = 5


async def readings_of(
    framing: str, recorded: bytes, count: int, damaged: dict[str, int], *,
    subscriber: Subscriber, terminal: Terminal, tmp_path: Path, **keys: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Replay a recording, and return all published records: exactly `count` payloads arrive."""
    port = port_of("meter", terminal.link, framing, **keys)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        await room.wait_for_port("meter", "open")
        await terminal.write(recorded)
        await subscriber.arrival_of(count)
        # A truncated file at the end of a recording counts as damage after a silence on the line.
        await room.wait_until(lambda room: room.port("meter").get("damaged") == damaged)
        await room.wait_until(lambda room: room.status["outbox"]["published"] == count)
        assert room.port("meter")["bytes"] == len(recorded)
    await subscriber.settled()
    assert len(subscriber.messages) == count
    return [record for _, payload in subscriber.messages for record in json.loads(payload)]


def sml_entries_of(recorded: bytes) -> list[tuple[str, str | None, Any]]:
    """Return name, unit and value of each entry that smllib finds, in order.

    Numbers are scaled, and other values are hexadecimal digits. smllib's own objects are not used:
    they refuse a whole file if one value is absent.
    """
    reader = SmlStreamReader()
    reader.add(recorded)
    found: list[tuple[str, str | None, Any]] = []
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
            entries = body[4] if tag == 0x0701 else ()
            for code, _, _, unit, scaler, value, _ in entries:
                if value is not None:
                    is_number = isinstance(value, int)
                    number = value * 10 ** (scaler or 0) if is_number else value
                    theirs = UNITS.get(unit)
                    found.append((sml_name_of(code), SENML_UNITS.get(theirs or "", theirs), number))
            found += status_of(entries)


def status_of(entries: Any) -> list[tuple[str, str | None, Any]]:
    """Return what the bridge derives from the status word of register 1.8.0 or 2.8.0."""
    by_code = {entry[0]: entry for entry in entries}
    totals = [by_code[code] for code in ("0100010800ff", "0100020800ff") if code in by_code]
    status = next((entry[1] for entry in totals if entry[1] is not None), None)
    if status is None:
        return []
    found: list[tuple[str, str | None, Any]] = [("meter_status", None, status)]
    amount = by_code.get("01000f0700ff")
    if amount is not None and "0100100700ff" not in by_code and status <= 0xFFFF:
        exports = bool(status & 0x20)
        found.append(("power_direction", None, "export" if exports else "import"))
        number = amount[5] * 10 ** (amount[4] or 0)
        found.append(("power", "W", -number if exports else number))
    return found


def sml_name_of(code: str) -> str:
    """Return the bridge's name for an OBIS code, or the formatted code if it has no name."""
    name = SML_CODES.get(code) or SML_NAMES.get(OBIS_NAMES.get(code, ""))
    if name is not None:
        return name
    medium, channel, *rest = bytes.fromhex(code)
    shown = rest[:-1] if rest[-1] == 255 else rest
    return f"{medium}-{channel}:" + ".".join(str(each) for each in shown)


def plain(snippet: Any) -> Any:
    value = snippet.value
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SML_DAMAGE)
async def test_sml_recordings_give_what_smllib_finds(
    name: str, captures: Path, subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    recorded = (captures / "sml" / name).read_bytes()
    expected = sml_entries_of(recorded)
    records = await readings_of(
        "sml", recorded, len(expected), SML_DAMAGE[name],
        subscriber=subscriber, terminal=terminal, tmp_path=tmp_path,
    )  # fmt: skip
    for record, (name_expected, unit, value) in zip(records, expected, strict=True):
        assert (record["n"], record.get("u")) == (f"meter/{name_expected}", unit)
        if isinstance(value, str):
            assert value in (record["vs"], record["vs"].encode().hex())
        else:
            assert record["v"] == pytest.approx(value, rel=1e-12)


def test_each_unit_of_smllib_that_senml_has_is_known_by_the_same_code() -> None:
    theirs = {code: SENML_UNITS.get(unit, unit) for code, unit in UNITS.items()}
    assert theirs.items() >= UNITS_OF_DLMS.items()
    others = {unit for code, unit in theirs.items() if code not in UNITS_OF_DLMS}
    assert others.isdisjoint(SENML)


@pytest.mark.parametrize("name", DSMR)
async def test_dsmr_recordings_give_what_dsmr_parser_finds(
    name: str, captures: Path, subscriber: Subscriber, terminal: Terminal, tmp_path: Path
) -> None:
    recorded = (captures / "dsmr" / name).read_bytes()
    text = recorded.decode("ascii")
    # One object per line, without the empty ones. In DSMR 2.2 the last reading takes two lines.
    lines = re.findall(r"^\d[^(]*(?:\([^()]*\))*", text, re.MULTILINE)
    lines = [line for line in lines if not line.endswith("()")]
    lines = [line for line in lines if not line.endswith("(0)(0-0:96.7.19)")]
    # The only entries of one log are from a time when the meter's clock was not set.
    lines = [line for line in lines if "(0-0:96.7.19)(000104180320W)" not in line]
    with_crc = not name.startswith("telegram_v2")
    # The recordings are years old, so each telegram also has the device's time, which was not used.
    count = len(lines) + 1
    with_crc = not name.startswith("telegram_v2")
    broken = recorded.replace(b"1.8.1(0", b"1.8.1(1")
    damaged = {"checksum": 1} if with_crc else {}
    before = broken if with_crc else b""
    records = await readings_of(
        "dsmr", before + recorded * REPEATS, count * REPEATS, damaged,
        subscriber=subscriber, terminal=terminal, tmp_path=tmp_path, crc=with_crc,
    )  # fmt: skip
    expected = objects_of(text, DSMR[name])
    entries = entries_of(expected.pop("power_failure_log", None))
    logged = [entry for entry in entries if entry[0] >= EARLIEST_LOGGED]
    assert sorted({record["sequence"] for record in records}) == [*range(1, REPEATS + 1)]
    for repeat in range(1, REPEATS + 1):
        telegram: dict[str, list[dict[str, Any]]] = {}
        for record in records:
            if record["sequence"] == repeat:
                telegram.setdefault(record["n"].partition("/")[2], []).append(record)
        log = telegram.pop("power_failure_log", [])
        assert [(record["device_t"], record["v"]) for record in log] == logged
        assert len(telegram.pop("device_time")) == 1
        assert telegram.keys() == expected.keys()
        for quantity, (value, unit, seconds) in expected.items():
            (record,) = telegram[quantity]
            assert value_of(quantity, record.get("v", record.get("vs"))) == value, quantity
            assert record.get("u") == unit, quantity
            # DSMR 2.2 telegrams have no time, and the times in them have no zone for dsmr-parser.
            if with_crc:
                own = expected["meter_time"][0] if seconds is None else seconds
                assert record["device_t"] == own, quantity


def test_the_recordings_of_the_folders_are_all_replayed(captures: Path) -> None:
    assert sorted(path.name for path in (captures / "sml").iterdir()) == sorted(SML_DAMAGE)
    assert sorted(path.name for path in (captures / "dsmr").iterdir()) == sorted(DSMR)
