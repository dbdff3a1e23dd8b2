"""Work per turn of the event loop: counted, and continued in a later turn when it is too much.

The core has no clock. It counts steps that take about a microsecond each in the compiled core.
Between two slices the event loop serves all other clients.
"""

from typing import Final

SLICE_UNITS: Final = 500
"""Work for one connection before others are served: a millisecond at most, two without the
compiled core. One message, one lookup and one filter are never cut."""

FILTER_UNITS: Final = 4
"""Making or removing a subscription: 4 microseconds."""

RETAINED_UNITS: Final = 6
"""Setting or removing what a topic retains, its levels and their memory included."""

DELIVERY_UNITS: Final = 2
"""Starting a delivery or putting one into a queue: 1 to 3 microseconds."""


class Work:
    """Units of work spent in the current slice of the event loop."""

    def __init__(self) -> None:
        self.spent = 0
