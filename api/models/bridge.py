"""The bridge's report: its connection, its outbox, its ports and their devices."""

from pydantic import Field

from api.models.values import Count, FiniteNumber, FromSensors, Integer, Milliseconds, Reported


class BridgeMqtt(Reported):
    connected: bool
    address: str
    session: str | None = None
    """The client identifier of its session; None before the first connection."""
    fault: str | None = None
    """Why there is no connection, in a sentence: the broker's code where it refused the bridge."""


class Outbox(Reported):
    waiting: Count
    """Readings on disk that have not been published."""
    in_flight: Count
    """Published, and not yet completed by the broker."""
    published: Count
    """Completed by the broker."""
    bytes: Count
    bytes_max: Count | None = None
    """What it may have: `outbox_max`."""
    full_by: str | None = None
    """Why it takes no readings that give way to no others: bytes, age or disk."""


class Quantity(FromSensors):
    name: str = "unknown"
    value: Integer | FiniteNumber | bool | str | None = None
    unit: str | None = None
    """As SenML (RFC 8428) writes it."""
    time_ms: Milliseconds | None = None


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
    """That of the latest request."""


class Device(FromSensors):
    device: str = "unknown"
    boot: Count | None = None
    """How often the device has started, as it counts itself. A board that gives the numbers of an
    earlier start again has that number plus 2^32 * n, n = 1, 2, ..."""
    sequence: Count | None = None
    """The number of its latest frame."""
    last_ms: Milliseconds | None = None
    clock_ms: Milliseconds | None = None
    """The device's clock, where it is wrong; its readings have the time of arrival."""
    silent_seconds: Count | None = None
    """How long it has sent nothing, where that is longer than `device_silent_after`."""
    failed: Failed | None = None
    """Latest failed request of a polled device; null: it answered the latest request."""
    quantities: list[Quantity] = Field([])
    unread: list[Unread] = Field([])


class Port(FromSensors):
    name: str = "unknown"
    path: str | None = None
    framing: str = "unknown"
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
    """Damaged frames of all in the latest `damaged_share_seconds`, 0 to 1; null: there was none."""
    damaged_share_seconds: Count | None = None
    damage_warning: bool | None = None
    """True while that share is too large, and for a moment after."""
    devices_watched: Count | None = None
    """Devices to which `device_silent_after` applies."""
    devices_silent: Count | None = None
    """Those of them that have sent nothing for longer."""
    silent_devices: list[str] = Field([])
    """The names of the first of them."""
    left_out: dict[str, Count] = Field({})
    """Values of good frames that were not published, by reason."""
    repeated_starts: Count | None = None
    """Starts of boards that gave the numbers of an earlier one again."""
    overruns: Count | None = None
    """Times that bytes were lost before the bridge could read them."""
    line_errors: dict[str, Count] = Field({})
    """What driver or serial server count: overrun, buffer_overrun, framing, parity, break."""
    resyncs: Count | None = None
    """Times that frames were read again after damage."""
    reopened: Count | None = None
    """Openings after the first."""
    resets: Count | None = None
    """Those of them for silence."""
    dropped: dict[str, Count] = Field({})
    """Readings that the bridge could not take, by reason."""
    held: bool | None = None
    """Whether the port is not read because the outbox is full."""
    when_full: str | None = None
    """What the port does while the outbox is full: stop_reading, drop_oldest or drop_newest."""
    dropping: str | None = None
    """Why readings are dropped now, as `when_full` has it; null: none are."""
    silent_seconds: Count | None = None
    """How long no byte has come, where that is longer than `silent_after`."""
    last_frame_ms: Milliseconds | None = None
    last_reading_ms: Milliseconds | None = None
    devices: list[Device] = Field([])


class BridgeStatus(Reported):
    mqtt: BridgeMqtt
    outbox: Outbox
    ports: list[Port]
