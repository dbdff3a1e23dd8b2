"""Serial ports, sensors and protocol detections, and the arguments of operators' requests."""

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
    """USB identity of the port, `VID:PID` or `VID:PID:SERIAL`."""
    description: str | None
    """The USB device's description of itself."""
    hint: str | None
    """The probable device, guessed from the USB identity."""
    in_use: str | None
    """The program that has the port open, if the bridge can see it."""
    sensor: str | None
    """The configured sensor that uses this port; null if there is none."""
    selection: dict[str, str]
    """The key of `[[serial]]` that selects exactly this port: `usb` or `path`."""


class ConfiguredSensor(Reported):
    """A `[[serial]]` table, or a removed table that can be restored."""

    name: str
    place: str | None
    """Path, USB identity or address of the sensor; null if it was removed."""
    framing: str | None
    source: str | None
    """The file or environment variable that contains the table."""
    version: str | None
    """Send this value with a change; null if the sensor was removed or cannot be changed here."""
    can_change: bool
    """True if the sensor has its own file in `conf.d/`."""
    has_previous: bool
    """True if the last change of the sensor can be undone."""


class SensorPorts(Reported):
    """The serial ports of this machine, and the configured sensors."""

    ports: list[PluggedPort]
    sensors: list[ConfiguredSensor]
    detections: dict[str, DetectionState]
    """The detections that are running, by port."""
    protocols: list[str]
    """Protocols that are valid values of `framing`."""


class TriedLine(Reported):
    line: str
    bytes: Count
    framing: str | None
    """The most likely protocol; null if none was recognised."""
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
    """The progress of a protocol detection on a serial port.

    The detection stops 20 seconds after its progress was last requested.
    """

    port: str
    state: DetectionState
    trouble: str | None
    """Reason why the detection failed."""
    seconds: Seconds
    line: str | None
    """The line settings that are being tried."""
    lines_left: Count
    tried: list[TriedLine]
    found: FoundProtocol | None
    """The best match so far."""


class SensorFile(Reported):
    """The configuration file of one sensor in `conf.d/`."""

    name: str
    version: str | None
    table: dict[str, Any]
    has_previous: bool


class LineFrame(Reported):
    """Bytes received on the line of a port, and the result of decoding them."""

    time_ms: Milliseconds
    state: Literal["sound", "damaged", "refused", "foreign", "request"]
    """`refused`: the device responded with an error; `foreign`: bytes that belong to no frame."""
    hex: str
    """The first 256 bytes as hexadecimal digits."""
    bytes: Count
    text: str
    """Decoded values, the reason why the frame is damaged, or the purpose of the request."""


class LineFrames(Reported):
    """The latest frames of a port, the newest first."""

    frames: list[LineFrame]


class ChangedSensors(Reported):
    sensors: list[str]
    """All sensors that are configured after the change."""


class ListPorts(Given):
    """Arguments of a request for the list of ports: an empty object, `{}`."""


class DetectPort(Given):
    port: PortText
    """A path, `/dev/ttyUSB0`, or a USB identity, `VID:PID[:SERIAL]`."""
    ask: bool = False
    """If true, send the requests of meters (D0, M-Bus) when nothing is received."""


class AskedPort(Given):
    port: PortText


class AskedSensor(Given):
    name: SensorName


class SaveSensor(Given):
    name: SensorName
    table: Annotated[dict[str, Any], Field(max_length=100)]
    """The keys of `[[serial]]`, without `name`."""
    version: Version = None
    """Version of the sensor before the change; null for a new sensor."""


class ChangeSensor(Given):
    name: SensorName
    version: Version = None
    """Version of the sensor as it was shown; null if the sensor was removed."""
