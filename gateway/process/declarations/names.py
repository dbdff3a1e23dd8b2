"""Allowed names for devices and quantities. A name becomes a topic level and part of a SenML name.

RFC 8428 section 4.5.1 allows letters, digits and `- : . / _`, starting with a letter or digit.
Names must not contain `/`, because it separates topic levels. There is one exception: a protocol
with several measurements per frame (NMEA 0183) uses `/` between the names of frame and measurement.
"""

from typing import Annotated

from gateway.process.declarations.quantities import Text

# The topic `sensors/<device>/<quantity>` stays far below every broker's limit.
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,63}"

MEASUREMENT_PATTERN = rf"{NAME_PATTERN}(/{NAME_PATTERN})?"
"""Pattern for the name of a quantity, or of a single measurement, such as `gga/alt`."""

MeasurementName = Annotated[
    str,
    Text(MEASUREMENT_PATTERN, 'a name like "temperature", or two like "gga/alt"'),
]

Name = Annotated[
    str,
    Text(
        NAME_PATTERN,
        "1 to 64 letters, digits, '.', ':', '_' or '-', beginning with a letter or digit",
    ),
]
