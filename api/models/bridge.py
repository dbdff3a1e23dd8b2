"""The bridge's report: its MQTT connection, its outbox, its ports and their devices."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from api.models.values import Count, FiniteNumber, FromSensors, Integer, Milliseconds, Reported


class BridgeMqtt(Reported):
    connected: bool
    address: str
    session: str | None = None
    """Client identifier of the bridge's MQTT session; null before the first connection."""
    fault: str | None = None
    """A sentence about why the bridge is not connected, with the broker's reason code if it
    refused.
    """


class Outbox(Reported):
    waiting: Count
    """Readings on disk that have not been published."""
    in_flight: Count
    """Readings that were published but not yet acknowledged by the broker."""
    published: Count
    """Readings that were published and acknowledged by the broker."""
    bytes: Count
    bytes_max: Count | None = None
    """Limit of the outbox: `outbox_max`."""
    full_by: str | None = None
    """The limit that was reached, so that the outbox accepts no readings: bytes, age or disk."""
    delivery_seconds: FiniteNumber | None = None
    """Mean time from a reading's last byte to the broker's PUBCOMP, in the latest 5 seconds.

    Null if no reading was completed in that time.
    """


class QuantityStep(Reported):
    """Summary of one quantity's readings within a 5-second step."""

    start_ms: Milliseconds
    count: Annotated[int, Field(ge=1, le=2**63 - 1)]
    low: FiniteNumber
    mean: FiniteNumber
    high: FiniteNumber
    last: FiniteNumber


class Quantity(FromSensors):
    name: str = "unknown"
    value: Integer | FiniteNumber | bool | str | None = None
    unit: str | None = None
    """Unit in SenML's form (RFC 8428)."""
    time_ms: Milliseconds | None = None
    steps: list[QuantityStep] = Field([])
    """The latest complete steps, if readings arrive less than 10 seconds apart."""


class Unread(FromSensors):
    """A quantity for which a polled device currently returns no value."""

    name: str = "unknown"
    place: str | None = None
    """Table and register in a Modbus device."""
    reason: str = "unknown"
    """no_value, not_measured, value, no_answer, or the exception that the device returned."""


class Failed(FromSensors):
    """Failed requests to a device since its latest valid response."""

    count: Count | None = None
    reason: str = "unknown"
    """Reason of the latest failure."""


class Device(FromSensors):
    device: str = "unknown"
    boot: Count | None = None
    """Number of times that the device has started, by its own count.

    If a board repeats the sequence numbers of an earlier start, 2^32 * n is added (n = 1, 2, ...).
    """
    sequence: Count | None = None
    """Sequence number of the device's latest frame."""
    last_ms: Milliseconds | None = None
    clock_ms: Milliseconds | None = None
    """Time of the device's clock, if it is wrong; readings then have the time of arrival."""
    silent_seconds: Count | None = None
    """Seconds since the device last sent anything, if more than `device_silent_after`."""
    failed: Failed | None = None
    """Failed requests to a polled device; null if it answered the latest request."""
    quantities: list[Quantity] = Field([])
    unread: list[Unread] = Field([])


class Port(FromSensors):
    name: str = "unknown"
    path: str | None = None
    framing: str = "unknown"
    topic: str | None = None
    """Topic of the port's readings with the placeholders `{device}` and `{quantity}`."""
    state: str = "unknown"
    """open, lost or waiting."""
    trouble: str | None = None
    """A sentence about why the port is not open."""
    bytes: Count | None = None
    frames: Count | None = None
    readings: Count | None = None
    damaged: dict[str, Count] = Field({})
    """Frames that were skipped, by reason."""
    refused: dict[str, Count] = Field({})
    """Requests that devices rejected in a valid response, by reason."""
    damaged_share: FiniteNumber | None = None
    """Fraction of damaged frames in the latest `damaged_share_seconds`; null if no frames arrived.
    """
    damaged_share_seconds: Count | None = None
    damage_warning: bool | None = None
    """True while `damaged_share` is too large, and shortly afterwards."""
    devices_watched: Count | None = None
    """Devices to which `device_silent_after` applies."""
    devices_silent: Count | None = None
    """Number of watched devices that are silent for longer than `device_silent_after`."""
    silent_devices: list[str] = Field([])
    """Names of the first silent devices."""
    left_out: dict[str, Count] = Field({})
    """Values of valid frames that were not published, by reason."""
    repeated_starts: Count | None = None
    """Number of times that a board restarted and repeated earlier sequence numbers."""
    overruns: Count | None = None
    """Number of times that bytes were lost before the bridge could read them."""
    line_errors: dict[str, Count] = Field({})
    """Errors counted by the driver or serial server: overrun, buffer_overrun, framing, parity,
    break.
    """
    resyncs: Count | None = None
    """Number of times that the bridge found the next frame after damaged bytes."""
    reopened: Count | None = None
    """Number of times that the port was opened again."""
    resets: Count | None = None
    """Number of times that the port was opened again because it was silent."""
    dropped: dict[str, Count] = Field({})
    """Readings that the bridge could not store, by reason."""
    held: bool | None = None
    """True if the port is not read because the outbox is full."""
    when_full: str | None = None
    """Action of the port while the outbox is full: stop_reading, drop_oldest or drop_newest."""
    dropping: str | None = None
    """Reason why readings are being dropped at present; null if none are."""
    silent_seconds: Count | None = None
    """Seconds since the last byte arrived, if more than `silent_after`."""
    last_frame_ms: Milliseconds | None = None
    last_reading_ms: Milliseconds | None = None
    devices: list[Device] = Field([])


class Discovery(Reported):
    """State of the device descriptions that the bridge publishes for Home Assistant."""

    prefix: str
    """First levels of the topics of descriptions: `home_assistant_prefix`."""
    gateway: str
    """Identifier of the gateway in the descriptions."""
    connected: bool
    """True while the bridge's connection for descriptions is open."""
    fault: str | None = None
    """A sentence about why that connection is not open."""
    status: Literal["online", "offline"] | None = None
    """Latest status that Home Assistant published; null if none since the bridge started."""
    status_ms: Milliseconds | None = None
    """Time at which the bridge received the status."""


class BridgeStatus(Reported):
    mqtt: BridgeMqtt
    outbox: Outbox
    home_assistant: Discovery | None = None
    """Null if the bridge does not describe devices."""
    ports: list[Port]


def devices_of(bridge: BridgeStatus) -> Iterator[tuple[Port, Device]]:
    """Yield all devices with their ports. Silent devices come first."""
    found = [(port, device) for port in bridge.ports for device in port.devices]
    yield from sorted(found, key=lambda each: each[1].silent_seconds is None)


def found_device(bridge: BridgeStatus, name: str) -> tuple[Port, Device] | None:
    """Return a device's port and the device itself, or None if no device has this name."""
    return next((each for each in devices_of(bridge) if each[1].device == name), None)
