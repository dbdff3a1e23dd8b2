"""The bridge's report: its connection, its outbox, its ports and their devices."""

from typing import Annotated

from pydantic import Field

from api.models.values import Count, FiniteNumber, FromSensors, Integer, Milliseconds, Reported


class BridgeMqtt(Reported):
    connected: bool
    address: str
    session: str | None = None
    """The client identifier of its session; None before the first connection."""
    fault: str | None = None
    """Why there is no connection, in a sentence; with the broker's code if it refused the
    bridge.
    """


class Outbox(Reported):
    waiting: Count
    """Readings on disk that have not been published."""
    in_flight: Count
    """Published, and not yet completed by the broker."""
    published: Count
    """Completed by the broker."""
    bytes: Count
    bytes_max: Count | None = None
    """Its limit: `outbox_max`."""
    full_by: str | None = None
    """The limit that it has reached, so that it accepts no more readings: bytes, age or disk."""
    delivery_seconds: FiniteNumber | None = None
    """Mean time from a reading's last byte to the broker's PUBCOMP, of those in the latest 5
    seconds; null: there was none."""


class QuantityStep(Reported):
    """Readings of one quantity in 5 seconds."""

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
    """In SenML's form (RFC 8428)."""
    time_ms: Milliseconds | None = None
    steps: list[QuantityStep] = Field([])
    """The latest whole steps of a quantity with readings less than 10 seconds apart."""


class Unread(FromSensors):
    """A quantity that a polled device does not return now."""

    name: str = "unknown"
    place: str | None = None
    """Table and register of a Modbus device."""
    reason: str = "unknown"
    """no_value, not_measured, value, no_answer, or the exception with which the device refuses."""


class Failed(FromSensors):
    """Requests without a valid answer since the latest valid one."""

    count: Count | None = None
    reason: str = "unknown"
    """Reason of the latest failure."""


class Device(FromSensors):
    device: str = "unknown"
    boot: Count | None = None
    """How often the device has started, as it counts itself. A board that gives the numbers of an
    earlier start again has that number plus 2^32 * n, n = 1, 2, ..."""
    sequence: Count | None = None
    """The number of its latest frame."""
    last_ms: Milliseconds | None = None
    clock_ms: Milliseconds | None = None
    """The device's clock, if it is wrong; its readings have the time of arrival."""
    silent_seconds: Count | None = None
    """How long it has sent nothing, if longer than `device_silent_after`."""
    failed: Failed | None = None
    """Latest failed request of a polled device; null: it answered the latest request."""
    quantities: list[Quantity] = Field([])
    unread: list[Unread] = Field([])


class Port(FromSensors):
    name: str = "unknown"
    path: str | None = None
    framing: str = "unknown"
    topic: str | None = None
    """Topic of its readings with the placeholders `{device}` and `{quantity}`."""
    state: str = "unknown"
    """open, lost or waiting."""
    trouble: str | None = None
    """Why the port is not open, in a sentence."""
    bytes: Count | None = None
    frames: Count | None = None
    readings: Count | None = None
    damaged: dict[str, Count] = Field({})
    """Frames that were skipped, by reason."""
    refused: dict[str, Count] = Field({})
    """Requests that devices refused with a sound answer, by reason."""
    damaged_share: FiniteNumber | None = None
    """Share of damaged frames in the latest `damaged_share_seconds`, 0 to 1; null: no frames."""
    damaged_share_seconds: Count | None = None
    damage_warning: bool | None = None
    """True while that share is too large, and shortly afterwards."""
    devices_watched: Count | None = None
    """Devices to which `device_silent_after` applies."""
    devices_silent: Count | None = None
    """Watched devices that have been silent for longer than that."""
    silent_devices: list[str] = Field([])
    """Names of the first silent devices."""
    left_out: dict[str, Count] = Field({})
    """Values of good frames that were not published, by reason."""
    repeated_starts: Count | None = None
    """Starts of boards that reused the numbers of an earlier start."""
    overruns: Count | None = None
    """Times that bytes were lost before the bridge could read them."""
    line_errors: dict[str, Count] = Field({})
    """Errors counted by driver or serial server: overrun, buffer_overrun, framing, parity,
    break.
    """
    resyncs: Count | None = None
    """How often frames were found again after damage."""
    reopened: Count | None = None
    """How often the port was opened again."""
    resets: Count | None = None
    """How often it was opened again because of silence."""
    dropped: dict[str, Count] = Field({})
    """Readings that the bridge could not store, by reason."""
    held: bool | None = None
    """True if the port is not read because the outbox is full."""
    when_full: str | None = None
    """Action of the port while the outbox is full: stop_reading, drop_oldest or drop_newest."""
    dropping: str | None = None
    """The reason of `when_full` for which readings are dropped now; null: none are dropped."""
    silent_seconds: Count | None = None
    """How long no byte has arrived, if longer than `silent_after`."""
    last_frame_ms: Milliseconds | None = None
    last_reading_ms: Milliseconds | None = None
    devices: list[Device] = Field([])


class BridgeStatus(Reported):
    mqtt: BridgeMqtt
    outbox: Outbox
    ports: list[Port]
