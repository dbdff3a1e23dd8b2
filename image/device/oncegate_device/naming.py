"""The card's name on the network.

It differs from the host name if another machine already uses the host name.
"""

import re

from oncegate_device import card
from oncegate_device.places import Places, Writable, remounted, write
from oncegate_device.report import write_report
from oncegate_device.start import start_of


def note(name: str, places: Places, *, writable: Writable = remounted) -> None:
    """Record the network name that systemd-resolved has chosen, for the report and the web page.

    Raises:
        OSError: if `name` is not a valid host name, or a file cannot be written.
    """
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", name):
        raise OSError(f"systemd-resolved reports no host name: {name!a}")
    places.run.mkdir(exist_ok=True)
    write(places.published_name, f"{name}\n", 0o644)
    card.publish(places, start_of(places))
    lines = card.provisioning_lines_of(places)
    with writable(places.boot):
        write_report(lines, places)
