"""Work per turn of the event loop: counted, and continued in a later turn when it is too much.

The core has no clock. It counts steps that take about a microsecond each in the compiled core.
Between two slices the event loop serves all other clients.
"""

from typing import Final

SLICE_UNITS: Final = 500
"""Work for one connection before others are served: at most a millisecond, two without the compiled
core. A single message, lookup or filter is never interrupted."""

FILTER_UNITS: Final = 4
"""Cost of adding or removing a subscription: 4 microseconds."""

RETAINED_UNITS: Final = 6
"""Cost of setting or removing a retained message, including its levels and their memory."""

DELIVERY_UNITS: Final = 2
"""Cost of starting or queuing a delivery: 1 to 3 microseconds."""


class Work:
    """Units of work spent in the current slice of the event loop."""

    def __init__(self) -> None:
        self.spent = 0
