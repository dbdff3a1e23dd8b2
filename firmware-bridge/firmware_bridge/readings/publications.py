"""Converts measurements to MQTT messages (docs/formats/readings.md)."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from firmware_bridge.readings.forms import json_of, plain_of, topic_of
from firmware_bridge.readings.measurement import (
    ABSOLUTE_TIME_SECONDS_MIN,
    Measurement,
    Quantities,
)
from firmware_bridge.readings.numbering import Numbering
from gateway.process.declarations.readings import Readings

AS_SENML: Final = Readings()
"""The default settings of readings: SenML payloads."""
ROW_OVERHEAD_BYTES: Final = 48
"""Size of a row of the outbox without its topic and payload, counted towards `outbox_max`."""


@dataclass(frozen=True, slots=True)
class Publication:
    """An MQTT message to publish. `topic` is valid UTF-8 without wildcards.

    If `gives_way_of` is None, this message is never dropped. Otherwise, the message may be dropped
    while the outbox is full, and `gives_way_of` is the name of the port that the message comes
    from.
    """

    qos: ClassVar[int] = 2
    topic: str
    payload: bytes
    retain: bool = False
    gives_way_of: str | None = None

    @property
    def bytes_count(self) -> int:
        """Size of the message in bytes, counted towards `outbox_max`."""
        return len(self.topic) + len(self.payload) + ROW_OVERHEAD_BYTES


def publications_of(
    quantities: Quantities,
    numbering: Numbering,
    *,
    arrival_seconds: float,
    units: Mapping[str, str],
    readings: Readings = AS_SENML,
    port: str = "",
) -> list[Publication]:
    """Return the messages that publish the quantities.

    With SenML payloads, there is one message per quantity. With other formats, there is one message
    per value. The argument `units` maps names of values to the units that the operator has
    configured for them. These units replace the units that the sensor sent.
    """
    known: dict[str, object] = {**readings.tags, "device": numbering.device, "port": port}
    if readings.payload == "senml":
        return [
            Publication(
                topic_of(readings.topic, {**known, "quantity": quantity}),
                _payload_of(measurements, numbering, arrival_seconds, units, readings.tags),
                retain=readings.retain,
            )
            for quantity, measurements in quantities.items()
        ]
    known |= {"boot": numbering.boot, "sequence": numbering.sequence}
    return [
        _publication_of(each, {**known, "quantity": each.name}, arrival_seconds, units, readings)
        for measurements in quantities.values()
        for each in measurements
    ]


def _publication_of(
    measurement: Measurement,
    known: Mapping[str, object],
    arrival_seconds: float,
    units: Mapping[str, str],
    readings: Readings,
) -> Publication:
    topic = topic_of(readings.topic, known)
    if readings.payload == "value":
        return Publication(topic, plain_of(measurement.value), retain=readings.retain)
    values = {
        **known,
        "value": measurement.value,
        "unit": units.get(measurement.name, measurement.unit),
        "time": time_seconds_of(measurement, arrival_seconds),
        "device_time": measurement.device_time_seconds,
    }
    return Publication(topic, json_of(readings.template, values), retain=readings.retain)


def time_seconds_of(measurement: Measurement, arrival_seconds: float) -> float:
    """Return the time of a measurement in seconds since 1970, rounded to milliseconds.

    If the sensor sent no date, and the gateway's clock has never been set (it shows a date before
    July 1978), the result is a small number instead. It is relative to the moment of delivery, as
    RFC 8428 section 4.5.3 defines for small numbers.
    """
    absolute = measurement.absolute_time_seconds
    if absolute is not None:
        return round(absolute, 3)
    age = measurement.time_seconds or 0.0
    return round(age if arrival_seconds < ABSOLUTE_TIME_SECONDS_MIN else arrival_seconds + age, 3)


def _payload_of(
    measurements: list[Measurement],
    numbering: Numbering,
    arrival_seconds: float,
    units: Mapping[str, str],
    tags: Mapping[str, str],
) -> bytes:
    records: list[dict[str, object]] = []
    for measurement in measurements:
        record: dict[str, object] = {"n": f"{numbering.device}/{measurement.name}"}
        unit = units.get(measurement.name, measurement.unit)
        if unit is not None:
            record["u"] = unit
        record["t"] = time_seconds_of(measurement, arrival_seconds)
        if measurement.device_time_seconds is not None:
            record["device_t"] = round(measurement.device_time_seconds, 3)
        record.update(_value_field_of(measurement))
        record["device"] = numbering.device
        record["boot"] = numbering.boot
        record["sequence"] = numbering.sequence
        if tags:
            record["tags"] = dict(tags)
        records.append(record)
    return json.dumps(records, separators=(",", ":"), allow_nan=False).encode()


def _value_field_of(measurement: Measurement) -> dict[str, object]:
    value = measurement.value
    if isinstance(value, bool):
        return {"vb": value}
    if isinstance(value, str):
        return {"vs": value}
    if isinstance(value, bytes):
        # RFC 8428 section 5: base64url without padding.
        return {"vd": base64.urlsafe_b64encode(value).rstrip(b"=").decode()}
    return {"v": value}
