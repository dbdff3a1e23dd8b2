"""Measurements -> what is published: topic and SenML JSON payload (docs/formats/readings.md)."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from firmware_bridge.readings.measurement import (
    ABSOLUTE_TIME_SECONDS_MIN,
    Measurement,
    Quantities,
)
from firmware_bridge.readings.numbering import Numbering


@dataclass(frozen=True, slots=True)
class Publication:
    """One PUBLISH to be: `topic` is valid UTF-8 without wildcards, `payload` is SenML JSON."""

    topic: str
    payload: bytes


def publications_of(
    quantities: Quantities,
    numbering: Numbering,
    *,
    arrival_seconds: float,
    units: Mapping[str, str],
) -> list[Publication]:
    """Make one publication a quantity. `units`, the operator's, replace those of the sensor."""
    return [
        Publication(
            f"sensors/{numbering.device}/{quantity}",
            _payload_of(measurements, numbering, arrival_seconds, units),
        )
        for quantity, measurements in quantities.items()
    ]


def time_seconds_of(measurement: Measurement, arrival_seconds: float) -> float:
    """Return when it was measured, in seconds since 1970, to the millisecond.

    A clock that was never set (before July 1978) is worse than none: then the time counts from
    the moment of delivery, as RFC 8428 section 4.5.3 has it for times this small.
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
) -> bytes:
    records: list[dict[str, object]] = []
    for measurement in measurements:
        record: dict[str, object] = {"n": f"{numbering.device}/{measurement.name}"}
        unit = units.get(measurement.name, measurement.unit)
        if unit is not None:
            record["u"] = unit
        record["t"] = time_seconds_of(measurement, arrival_seconds)
        record.update(_value_field_of(measurement))
        record["device"] = numbering.device
        record["boot"] = numbering.boot
        record["sequence"] = numbering.sequence
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
