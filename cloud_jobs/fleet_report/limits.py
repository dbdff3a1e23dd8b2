"""Every limit of the page: its unit, its value and its reason."""

from __future__ import annotations

from typing import Final

GATEWAYS_MAX: Final = 1_000
"""Gateways with a row of their own, those in trouble first: more rows are not looked at,
and the page stays below a few megabytes. Sums and counts are of all."""

DAYS_MAX: Final = 92
"""Days of a page: a quarter. Its cells are this times GATEWAYS_MAX."""

SILENT_SECONDS: Final = 86_400
"""Since the last event of a gateway: from then on it is counted as silent. It writes some each
hour while it runs, and uploads them within another."""

DROPS_MAX: Final = 200
"""Rows of the table of messages that were not delivered, at most; the largest are shown."""

GAPS_MAX: Final = 200
"""Gaps by name, the largest first; all are counted."""

REASONS_MAX: Final = 40
"""Versions, and reasons of refusals. Both are short lists in truth; names are not trusted."""

NAME_CHARACTERS_MAX: Final = 80
"""Of a text that a gateway chose, as it is shown."""

NAME_CHARACTERS_WIDE: Final = 24
"""Of a name in the first column of a table: a longer one is cut off there and whole when pointed
at, so that it does not push the other columns out of sight."""
