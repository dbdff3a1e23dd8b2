"""Limits of the report, each with its unit and reason."""

from __future__ import annotations

from typing import Final

GATEWAYS_MAX: Final = 1_000
"""Gateways with a row and a page of their own, those with problems first. Other gateways are not
read, so that the fleet's page stays below a few megabytes. Sums and counts include all gateways."""

DAYS_MAX: Final = 92
"""Days of a page: a quarter of a year. The page has this number times GATEWAYS_MAX cells."""

SILENT_SECONDS: Final = 86_400
"""Seconds without an event after which a gateway is silent. A running gateway writes events every
hour and uploads them within another hour."""

DROPS_MAX: Final = 200
"""Rows of the table of messages that were not delivered; the largest are shown."""

GAPS_MAX: Final = 200
"""Rows of the table of gaps, largest first; all gaps are counted."""

REASONS_MAX: Final = 40
"""Versions listed, and reasons of refusals listed. Both lists are short in practice, but their
texts are not trusted."""

NAME_CHARACTERS_MAX: Final = 80
"""Characters shown of a name chosen by a gateway or client: a longer name would fill the page."""

LINE_CHARACTERS_MAX: Final = 300
"""Characters of a sentence about a problem, including names and the event."""

NAME_CHARACTERS_WIDE: Final = 24
"""Characters of a name in the first column of a table. A longer name would push the other columns
out of sight, so it is truncated and shown in full as a tooltip."""

QUARTER_DAYS_MAX: Final = 7
"""Days that a gateway's page shows by quarter hour: 672 points per curve."""

QUARTER_POINTS_MAX: Final = 4_000_000
"""Points by quarter hour in all pages together. A larger fleet shows fewer days by quarter hour,
but at least one: 1,000 gateways with 20 quantities get 2 days, and pages of at most 150 kB."""

SERIES_PER_GATEWAY_MAX: Final = 300
"""Quantities on the page of a gateway, those with problems first; all are counted. Without the
limit, a client that invents names could fill the page."""

SERIES_PER_READ_MAX: Final = 2_000
"""Quantities whose curves are read in one query: 1.4 million rows of 60 bytes for 7 days."""

GATEWAYS_PER_READ_MAX: Final = 200
"""Gateways whose rows are read together. Gateways without sensors have only days, gaps and lost
messages."""

ROWS_PER_GATEWAY_MAX: Final = 50
"""Rows of gaps, and of messages not delivered, on the page of a gateway; the largest are shown."""

LINES_SHOWN_MAX: Final = 8
"""Problems of one kind that are visible in the list; the others are collapsed."""

LINES_MAX: Final = 200
"""Problems of one kind in the list; all are counted."""

SILENT_INTERVALS: Final = 3
"""Usual intervals without a reading after which a sensor is silent: one lost reading and one late
reading raise no alarm."""

SILENT_SENSOR_SECONDS_MIN: Final = 3_600
"""Minimum seconds without a reading before a sensor is silent, however often it sends. A restart or
an update of its gateway takes less time."""

NAMES_BYTES_MAX: Final = 16_777_216
"""Bytes of the file of names: 200,000 lines of 80 bytes."""

NAMES_LINES_MAX: Final = 200_000
"""Lines of the file of names: 1,000 gateways with 200 sensors each."""
