"""Defines which names are allowed for devices and quantities.

Each name is used as a topic level and as part of a SenML name. SenML names consist of letters,
digits and `- : . / _`, and start with a letter or digit (RFC 8428 section 4.5.1). The gateway does
not allow `/`, because it separates topic levels. The only exception is NMEA 0183. Its frames
contain several measurements, whose names consist of the frame's name, a `/` and the measurement's
own name.
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
