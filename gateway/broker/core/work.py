"""Divides work into slices, so that a busy client does not delay others.

The core has no clock, so it counts units of work. A unit takes about a microsecond in the compiled
core. A slice takes about a millisecond. After each slice, the event loop handles other clients.
"""

from typing import Final

SLICE_UNITS: Final = 500
"""Maximum units of work for one connection before others are served: at most a millisecond, or two
without the compiled core. A single message, lookup or filter is never interrupted."""

FILTER_UNITS: Final = 4
"""Units for adding or removing a subscription: 4 microseconds."""

RETAINED_UNITS: Final = 6
"""Units for setting or removing a retained message, including its topic levels and their memory."""

DELIVERY_UNITS: Final = 2
"""Units for starting or queuing a delivery: 1 to 3 microseconds."""


class Work:
    """Counter of the units of work that have been done in the current slice."""

    def __init__(self) -> None:
        self.spent = 0
