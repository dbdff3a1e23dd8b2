"""Every limit of the report, with its unit and reason."""

from __future__ import annotations

from typing import Final

GATEWAYS_MAX: Final = 1_000
"""Gateways with a row of their own, those with problems first: further rows are not read, and the
page stays below a few megabytes. Each has its own page. Sums and counts include all gateways."""

DAYS_MAX: Final = 92
"""Days of a page: a quarter. Its cells are this times GATEWAYS_MAX."""

SILENT_SECONDS: Final = 86_400
"""Seconds without an event after which a gateway is silent. A running gateway writes events each
hour, and uploads them within another."""

DROPS_MAX: Final = 200
"""Rows of the table of messages that were not delivered; the largest are shown."""

GAPS_MAX: Final = 200
"""Rows of the table of gaps, largest first; all are counted."""

REASONS_MAX: Final = 40
"""Versions, and reasons of refusals. Both lists are short in practice, but their texts are not
trusted."""

NAME_CHARACTERS_MAX: Final = 80
"""Characters shown of a name chosen by a gateway or client: a longer one would fill the page."""

LINE_CHARACTERS_MAX: Final = 300
"""Characters of a sentence about a problem, including names and the event."""

NAME_CHARACTERS_WIDE: Final = 24
"""Characters of a name in the first column of a table. A longer one is cut off, and shown in full
under the pointer: it would push the other columns out of sight."""

QUARTER_DAYS_MAX: Final = 7
"""Days that a gateway's page shows by quarter of an hour: 672 points per curve."""

QUARTER_POINTS_MAX: Final = 4_000_000
"""Quarters of an hour in all pages together. A larger fleet shows fewer days by quarter of an hour,
at least one: 1,000 gateways with 20 quantities get 2 days, and pages of 150 kB at most."""

SERIES_PER_GATEWAY_MAX: Final = 300
"""Quantities on the page of a gateway, those with problems first; all are counted. A client that
invents names would fill the page."""

SERIES_PER_READ_MAX: Final = 2_000
"""Quantities whose curves are read in one query: 1.4 million rows of 60 bytes for 7 days."""

GATEWAYS_PER_READ_MAX: Final = 200
"""Gateways whose rows are read together: without sensors they only have days, gaps and lost
messages."""

ROWS_PER_GATEWAY_MAX: Final = 50
"""Rows of gaps, and of messages not delivered, on the page of a gateway; largest first."""

LINES_SHOWN_MAX: Final = 8
"""Lines of one kind that are visible in the list of problems; the others are folded."""

LINES_MAX: Final = 200
"""Lines of one kind in the list of problems; all are counted."""

SILENT_INTERVALS: Final = 3
"""A sensor is silent after this many of its usual intervals without a reading: one lost reading and
a late one raise no alarm."""

SILENT_SENSOR_SECONDS_MIN: Final = 3_600
"""A sensor is never silent before this many seconds without a reading, however often it sends: a
restart of its gateway or an update takes less."""

NAMES_BYTES_MAX: Final = 16_777_216
"""Bytes of the file of names: 200,000 lines of 80."""

NAMES_LINES_MAX: Final = 200_000
"""Lines of the file of names: 1,000 gateways with 200 sensors each."""
