"""Messages that the bridge publishes for a reading, as docs/formats/readings.md defines them."""

import json

import pytest
from firmware_bridge.protocols.nmea_sentence import frame_of
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.numbering import Numbering
from firmware_bridge.readings.publications import publications_of

from gateway.process.declarations.readings import Readings

NUMBERING = Numbering("board-0000002a", 3, 17)
NOW = 1763715138.25049


def test_measurements_become_one_payload_a_quantity() -> None:
    quantities: Quantities = {
        "temperature": [Measurement("temperature", 21.5, "Cel", -0.25)],
        "door": [Measurement("door", "open")],
    }
    temperature, listener = publications_of(quantities, NUMBERING, arrival_seconds=NOW, units={})
    assert temperature.topic == "sensors/board-0000002a/temperature"
    assert json.loads(temperature.payload) == [
        {
            "n": "board-0000002a/temperature",
            "u": "Cel",
            "t": 1763715138.0,
            "v": 21.5,
            "device": "board-0000002a",
            "boot": 3,
            "sequence": 17,
        }
    ]
    assert listener.topic == "sensors/board-0000002a/door"
    assert "u" not in json.loads(listener.payload)[0]


def test_each_kind_of_value_has_its_field() -> None:
    values: list[Value] = [1, 1.5, "a", True, b"\xfb\xff"]
    quantities = {"x": [Measurement("x", value) for value in values]}
    (publication,) = publications_of(quantities, NUMBERING, arrival_seconds=NOW, units={})
    records = json.loads(publication.payload)
    assert [record.get("v") for record in records] == [1, 1.5, None, None, None]
    assert records[2]["vs"] == "a"
    assert records[3]["vb"] is True
    assert records[4]["vd"] == "-_8", "base64url without padding"


def test_times_are_relative_below_2_to_the_28_and_absolute_above() -> None:
    times = [None, 0.0, -60.0, float(2**28), 1.7e9]
    quantities = {"x": [Measurement("x", 1, None, time) for time in times]}
    (publication,) = publications_of(quantities, NUMBERING, arrival_seconds=NOW, units={})
    arrived = 1763715138.25
    assert [record["t"] for record in json.loads(publication.payload)] == [
        arrived,
        arrived,
        arrived - 60,
        2**28,
        1.7e9,
    ]


def test_the_operators_unit_wins_over_the_sensors() -> None:
    quantities = {"x": [Measurement("x", 1, "Cel")]}
    (publication,) = publications_of(quantities, NUMBERING, arrival_seconds=NOW, units={"x": "K"})
    assert json.loads(publication.payload)[0]["u"] == "K"


@pytest.mark.parametrize("payload", ["senml", "value", "json"])
@pytest.mark.parametrize("retain", [False, True])
def test_a_reading_of_each_form_is_retained_if_asked_for(payload: str, retain: bool) -> None:
    template = {"v": "{value}"} if payload == "json" else {}
    found = publications_of(
        {"x": [Measurement("x", 1)]},
        NUMBERING,
        arrival_seconds=NOW,
        units={},
        readings=Readings(payload=payload, template=template, retain=retain),  # type: ignore[arg-type]
    )
    assert [each.retain for each in found] == [retain]


@pytest.mark.parametrize(
    "quantities",
    [
        {"temperature": [Measurement("temperature", 21.5)]},
        frame_of(
            b"$", b"GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,"
        ).quantities,
        frame_of(b"$", b"PUBX,00,081350.00,4717.113210,N").quantities,
        frame_of(b"!", b"AIVDM,1,1,,B,177KQJ5000G?tO`K>RA1wUbN0TKH,0").quantities,
    ],
    ids=["board", "gga", "proprietary", "ais"],
)
def test_a_records_name_is_its_topics_device_and_quantity_as_the_tables_ask(
    quantities: Quantities,
) -> None:
    for publication in publications_of(quantities, NUMBERING, arrival_seconds=NOW, units={}):
        own_name = publication.topic.removeprefix("sensors/")
        for record in json.loads(publication.payload):
            assert record["n"] == own_name or record["n"].startswith(f"{own_name}/")
