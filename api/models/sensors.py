"""Ports, sensors and detections as operators see them, and the arguments of changes."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api import limits
from api.models.actions import Given
from api.models.values import Count, FiniteNumber, Milliseconds, Reported, Seconds

PortText = Annotated[str, Field(min_length=1, max_length=limits.PORT_CHARACTERS_MAX)]
SensorName = Annotated[str, Field(min_length=1, max_length=limits.SENSOR_NAME_CHARACTERS_MAX)]
Version = Annotated[str, Field(max_length=64)] | None
DetectionState = Literal["trying", "asking", "found", "nothing", "failed"]


class PluggedPort(Reported):
    """A serial port of this machine."""

    path: str
    by_id: str | None
    by_path: str | None
    usb: str | None
    """Its USB identity, `VID:PID` or `VID:PID:SERIAL`."""
    description: str | None
    """How the device describes itself."""
    hint: str | None
    """The likely device, by its USB identity."""
    in_use: str | None
    """The program that has it open, as far as the bridge sees it."""
    sensor: str | None
    """The sensor that it is read as; null: it is not configured."""
    selection: dict[str, str]
    """The key of `[[serial]]` that selects this port and no other: `usb` or `path`."""


class ConfiguredSensor(Reported):
    """A `[[serial]]` table, or a removed one that can be brought back."""

    name: str
    place: str | None
    """Its path, USB identity or address; null if it was removed."""
    framing: str | None
    source: str | None
    """The file or the variable that has it."""
    version: str | None
    """Give this with a change; null if it was removed, or cannot be changed here."""
    can_change: bool
    """True if it has a file of its own in `conf.d/`."""
    has_previous: bool
    """True if its last change can be undone."""


class SensorPorts(Reported):
    """The ports of this machine, and the sensors that are configured."""

    ports: list[PluggedPort]
    sensors: list[ConfiguredSensor]
    detections: dict[str, DetectionState]
    """The detections that run, by port."""
    protocols: list[str]
    """The protocols that `framing` can name."""


class TriedLine(Reported):
    line: str
    bytes: Count
    framing: str | None
    """The likeliest protocol; null if none was recognised."""
    sure: FiniteNumber | None


class FoundValue(Reported):
    name: str
    value: FiniteNumber | str | bool
    unit: str | None


class FoundProtocol(Reported):
    framing: str
    line: str
    sure: FiniteNumber
    """Confidence, from 0 to 1."""
    frames: Count
    damaged: Count
    table: dict[str, Any]
    """The keys of `[[serial]]` for this port, without a name."""
    values: list[FoundValue]
    """The values of the last frame."""
    age_seconds: Seconds | None
    """Age of the last frame."""


class Detection(Reported):
    """The progress of a detection. It ends 20 seconds after it was last asked for."""

    port: str
    state: DetectionState
    trouble: str | None
    """Why it failed."""
    seconds: Seconds
    line: str | None
    """The line that is tried now."""
    lines_left: Count
    tried: list[TriedLine]
    found: FoundProtocol | None
    """The best so far."""


class SensorFile(Reported):
    """The file of a sensor in `conf.d/`."""

    name: str
    version: str | None
    table: dict[str, Any]
    has_previous: bool


class LineFrame(Reported):
    """Bytes on the line of a port, and the result of decoding them."""

    time_ms: Milliseconds
    state: Literal["sound", "damaged", "refused", "foreign", "request"]
    """`refused`: the device answered with an error; `foreign`: bytes that belong to no frame."""
    hex: str
    """The first 256 bytes."""
    bytes: Count
    text: str
    """Decoded values, the reason of the damage, or the purpose of the request."""


class LineFrames(Reported):
    """The latest frames of a port, the newest first."""

    frames: list[LineFrame]


class ChangedSensors(Reported):
    sensors: list[str]
    """All sensors that are read now."""


class ListPorts(Given):
    """Arguments of a list: none."""


class DetectPort(Given):
    port: PortText
    """A path, `/dev/ttyUSB0`, or a USB identity, `VID:PID[:SERIAL]`."""
    ask: bool = False
    """Send the requests of meters (D0, M-Bus) if nothing is received."""


class AskedPort(Given):
    port: PortText


class AskedSensor(Given):
    name: SensorName


class SaveSensor(Given):
    name: SensorName
    table: Annotated[dict[str, Any], Field(max_length=100)]
    """The keys of `[[serial]]`, without `name`."""
    version: Version = None
    """The version of the sensor before the change; null for a new one."""


class ChangeSensor(Given):
    name: SensorName
    version: Version = None
    """The version of the sensor as it was shown; null if it was removed."""
