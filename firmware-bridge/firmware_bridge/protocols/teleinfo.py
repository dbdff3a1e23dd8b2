"""The Teleinfo protocol, in which French meters (Linky) send data from their customer port::

    STX | LF label SEP [time SEP] value SEP checksum CR | LF ... CR | ETX

There is a standard mode, where SEP is TAB, and a historic mode, where SEP is a space. Each group
from LF to CR has its own checksum: (sum of its bytes & 0x3F) + 0x20. The sum includes the last SEP
in standard mode only.
Source: Enedis-NOI-CPT_54E.
"""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, NamedTuple

from firmware_bridge.protocols.checksums import PARITY, SEVEN_BITS
from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.dsmr_time import seconds_of
from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.joined_units import split_unit
from firmware_bridge.protocols.text_values import name_for, value_of
from firmware_bridge.readings.kinds import Kind, Kinds
from firmware_bridge.readings.measurement import Measurement, Quantities
from gateway.process.declarations.quantities import Whole
from gateway.process.declarations.serial_line import Line

# The frame of a three-phase meter that also exports takes about 1.5 KiB.
FRAME_BYTES_MAX: Final = 4096

# STX, ETX, and EOT, with which the meter interrupts a frame.
_DELIMITER = re.compile(rb"[\x02\x03\x04]")
_GROUP = re.compile(rb"[^\r\n]+")
_LABEL = re.compile(rb"[A-Za-z][A-Za-z0-9+_-]{1,15}[\t ]")
_TAB = b"\t"
_TIME = re.compile(r"[EeHh ][0-9]{12}")
_CLOCK = "DATE"
_THREE: Final = (1, 2, 3)


class Label(NamedTuple):
    """The quantity that a meter's label stands for: its name, unit and data type.

    A value with a unit is always a number.
    """

    name: str
    unit: str | None = None
    kind: Kind | None = None


_TEXTS: Final = {
    "ADSC": "meter_id", "ADCO": "meter_id", "ADS": "meter_id", "VTIC": "version",
    "NGTF": "tariff_name", "LTARF": "tariff", "STGE": "meter_status", "MSG1": "message",
    "MSG2": "message_2", "PRM": "delivery_point", "RELAIS": "relays", "NTARF": "tariff_number",
    "NJOURF": "day_number", "NJOURF+1": "day_number_tomorrow", "PJOURF+1": "day_profile",
    "PPOINTE": "peak_profile", "OPTARIF": "tariff_name", "PTEC": "tariff", "DEMAIN": "tomorrow",
    "HHPHC": "off_peak_group", "MOTDETAT": "meter_status", "PPOT": "phase_potentials",
}  # fmt: skip
_NUMBERS: Final = {
    "EAST": ("energy_import", "Wh"), "EAIT": ("energy_export", "Wh"),
    "BASE": ("energy_import", "Wh"), "HCHC": ("energy_import_off_peak", "Wh"),
    "HCHP": ("energy_import_peak", "Wh"), "EJPHN": ("energy_import_normal", "Wh"),
    "EJPHPM": ("energy_import_mobile_peak", "Wh"), "PAPP": ("apparent_power", "VA"),
    "BBRHCJB": ("energy_import_blue_off_peak", "Wh"), "BBRHPJB": ("energy_import_blue_peak", "Wh"),
    "BBRHCJW": ("energy_import_white_off_peak", "Wh"),
    "BBRHPJW": ("energy_import_white_peak", "Wh"),
    "BBRHCJR": ("energy_import_red_off_peak", "Wh"), "BBRHPJR": ("energy_import_red_peak", "Wh"),
    "PEJP": ("mobile_peak_notice", "min"),
    "SINSTS": ("apparent_power", "VA"), "SINSTI": ("apparent_power_export", "VA"),
    "SMAXSN": ("apparent_power_max", "VA"), "SMAXIN": ("apparent_power_export_max", "VA"),
    "SMAXSN-1": ("apparent_power_max_yesterday", "VA"),
    "SMAXIN-1": ("apparent_power_export_max_yesterday", "VA"),
    "CCASN": ("power_average", "W"), "CCASN-1": ("power_average_before", "W"),
    "CCAIN": ("power_export_average", "W"), "CCAIN-1": ("power_export_average_before", "W"),
    "PREF": ("power_limit", "kVA"), "PCOUP": ("power_cut_off", "kVA"),
    "ISOUSC": ("current_limit", "A"), "IINST": ("current", "A"), "IMAX": ("current_max", "A"),
    "ADPS": ("current_excess", "A"), "PMAX": ("power_max", "W"),
}  # fmt: skip


def _numbered_labels() -> dict[str, tuple[str, str]]:
    """Return the labels that contain the number of a tariff, a quadrant or a phase.

    The result maps each of these labels to the name and the unit of its quantity.
    """
    found: dict[str, tuple[str, str]] = {}
    for number in range(1, 11):
        found[f"EASF{number:02}"] = (f"energy_import_t{number}", "Wh")
    for number in range(1, 5):
        found[f"EASD{number:02}"] = (f"energy_import_distributor_t{number}", "Wh")
        found[f"ERQ{number}"] = (f"reactive_energy_q{number}", "varh")
    for phase in _THREE:
        found |= {
            f"IRMS{phase}": (f"current_l{phase}", "A"), f"IINST{phase}": (f"current_l{phase}", "A"),
            f"IMAX{phase}": (f"current_max_l{phase}", "A"),
            f"ADIR{phase}": (f"current_excess_l{phase}", "A"),
            f"URMS{phase}": (f"voltage_l{phase}", "V"),
            f"UMOY{phase}": (f"voltage_average_l{phase}", "V"),
            f"SINSTS{phase}": (f"apparent_power_l{phase}", "VA"),
            f"SMAXSN{phase}": (f"apparent_power_max_l{phase}", "VA"),
            f"SMAXSN{phase}-1": (f"apparent_power_max_yesterday_l{phase}", "VA"),
        }  # fmt: skip
    return found


_TIMES: Final = {
    "DATE": "meter_time",
    **{f"DPM{number}": f"mobile_peak_start_{number}" for number in _THREE},
    **{f"FPM{number}": f"mobile_peak_end_{number}" for number in _THREE},
}
"""Labels whose value is the time that the meter sends with them."""

_LABELS: Final[dict[str, Label]] = {
    **{label: Label(name, None, "text") for label, name in (_TEXTS | _TIMES).items()},
    **{
        label: Label(name, unit, "number")
        for label, (name, unit) in (_NUMBERS | _numbered_labels()).items()
    },
}
"""The labels that meters send in standard and historic mode."""


@dataclass(frozen=True, kw_only=True)
class Teleinfo(DecoderSettings):
    """Settings for the customer port of French meters, in standard or historic mode."""

    default_line: ClassVar = Line(9600, 7, "E", 1)
    descriptions: ClassVar = {
        "utc_offset": "Offset of the meter's winter time from UTC, in hours.",
    }

    utc_offset: Annotated[int, Whole(-12, 14)] = 1

    @property
    def frames_enough(self) -> int:
        """Number of frames needed to identify the protocol: 2, because 6-bit checksums are weak."""
        return 2

    def decoder(self) -> "TeleinfoDecoder":
        """Create a decoder for one serial line."""
        return TeleinfoDecoder(self.utc_offset)


class TeleinfoDecoder(DelimitedDecoder):
    """Decoder of Teleinfo frames. If a group has a wrong checksum, only this group is skipped."""

    def __init__(self, utc_offset_hours: int) -> None:
        super().__init__(_DELIMITER, FRAME_BYTES_MAX)
        self._utc_offset_hours = utc_offset_hours

    def begin(self, *, mid_line: bool) -> None:
        """Discard a frame that was incomplete when the port was closed. Count it as truncated."""
        if self._part:
            self.tally.damaged["truncated"] += 1
        super().begin(mid_line=mid_line)
        # A frame without its beginning lacks the meter's name and the time of the values.
        self._skipping = mid_line

    def read_frame(self, data: bytes) -> Frame | None:
        """Decode the groups of a frame. Groups without their own time get the time of the frame.

        Raises:
            Damaged: with reason "truncated" if the frame consists of parts of two frames.
        """
        groups = [group for line in _GROUP.findall(data) if (group := self._group_of(line))]
        if has_repeated_label(groups):
            raise Damaged("truncated")
        now: float | None = None
        for group in groups:
            if group[0] == _CLOCK and len(group) > 2:
                now = _seconds_of(group[1], self._utc_offset_hours)
        quantities: Quantities = {}
        for group in groups:
            try:
                found = _measurement_of(group, now, self._utc_offset_hours, self.kinds)
            except Damaged as damage:
                self.tally.skipped[damage.reason] += 1
            else:
                quantities.setdefault(found.name, [found])
        if changed := self.kinds.keep(quantities):
            self.tally.skipped[TYPE] += changed
        return Frame(quantities) if quantities else None

    def _group_of(self, line: bytes) -> list[str]:
        """Return the label, time and value of a group, or an empty list if the group is damaged."""
        if not _LABEL.match(line):
            has_parity = _LABEL.match(line.translate(SEVEN_BITS)) is not None
            self.tally.damaged[PARITY if has_parity else "syntax"] += 1
            return []
        is_standard = _TAB in line
        content, checksum = (line[:-1], line[-1]) if is_standard else (line[:-2], line[-1])
        if (sum(content) & 0x3F) + 0x20 != checksum:
            self.tally.damaged["checksum"] += 1
            return []
        text = content.decode("ascii", "surrogateescape").removesuffix("\t")
        return text.split("\t") if is_standard else text.split(" ", 1)


def has_repeated_label(groups: list[list[str]]) -> bool:
    """Return True if a frame contains the same label twice, with different contents.

    This happens if the end of one frame and the beginning of the next frame are lost, so that the
    remaining bytes look like one frame. Such a frame must be discarded, because some of its values
    would get the wrong time.
    """
    values: dict[str, list[str]] = {}
    return any(values.setdefault(group[0], group) != group for group in groups)


def _measurement_of(
    group: list[str], now: float | None, utc_offset_hours: int, kinds: Kinds
) -> Measurement:
    """Return the measurement of a group, which consists of a label, possibly a time, and a value.

    `now` is the time of the frame, for groups without a time of their own. `kinds` contains the
    data types of quantities from earlier frames, for labels that are not standardized.

    Raises:
        Damaged: if the group is invalid or has no value. The reason is "syntax", "not_measured",
            "type", "value" or "text".
    """
    if len(group) < 2:
        raise Damaged("syntax")
    label, *times, text = group
    time = now
    if label in _TIMES and times:
        text = times[0]
    elif times:
        time = _seconds_of(times[0], utc_offset_hours)
    name, unit, kind = _LABELS.get(label) or Label(name_for(label))
    if kind is None and kinds.of(name) != "text":  # PME-PMI meters write units: `13000kWh`.
        text, unit = split_unit(text)
    return Measurement(name, value_of(text, kind or kinds.of(name)), unit, time)


def _seconds_of(text: str, utc_offset_hours: int) -> float | None:
    """Convert a time to seconds since 1970. The letter E means summer time, and H winter time.

    A lower-case letter means that the meter's clock is unreliable. In this case, the result is
    None.
    """
    if _TIME.fullmatch(text) is None or text[0] not in "EH":
        return None
    try:
        return seconds_of(text[1:] + ("S" if text[0] == "E" else "W"), utc_offset_hours)
    except Damaged:
        return None
