"""Checks and carries out update requests, which the broker writes to files.

`check` runs without Linux capabilities. It reads a request in the same way as the module
`requests`, and writes a valid request to a file owned by root. `carry_out` runs as root, and reads
only that file.
"""

import json
import sys

from gateway.process import bundle_address
from oncegate_device import card
from oncegate_device.installing import FailedError, RefusedError, go_back, install
from oncegate_device.network import Systemctl, systemctl
from oncegate_device.places import Places, Writable, remounted, write
from oncegate_device.requests import object_in, take
from oncegate_device.start import start_of
from oncegate_device.updates import line_of

INSTALL, BACK = "install_update", "go_back"
UNIT = "device-update.service"


def check(places: Places, run: Systemctl = systemctl) -> None:
    """Check a request to install an update, or to return to the version in the other slot.

    If the request is valid, start the unit that carries it out.
    """
    asked: dict[str, str] = {}
    if take(places.requests / BACK) is not None:
        asked = {"do": BACK}
    request = take(places.requests / INSTALL)
    if request is not None:
        source = (object_in(request) or {}).get("source")
        if not isinstance(source, str) or not bundle_address.is_bundle_address(source):
            refuse(
                f"The address of the bundle cannot be used: give {bundle_address.ADDRESS_ALLOWED}",
                places,
            )
            return
        asked = {"do": INSTALL, "source": source}
    if asked:
        write(places.checked_request, json.dumps(asked) + "\n", 0o600)
        run("start", "--no-block", UNIT)


def carry_out(places: Places, writable: Writable = remounted) -> int:
    """Carry out a request: install an update, or go back to the version in the other slot.

    Return the exit status, which is 0 on success.
    """
    asked = json.loads(places.checked_request.read_text())
    places.checked_request.unlink()
    places.update_refusal.unlink(missing_ok=True)
    try:
        if asked["do"] == BACK:
            print(go_back(places, writable=writable))
        else:
            print(install(asked["source"], places, rollback_ends=False, writable=writable))
    except RefusedError as error:
        refuse(f"Nothing was installed: {error}", places)
        return 1
    except FailedError as error:
        print(f"not installed: {error}", file=sys.stderr)
        return 1
    return 0


def refuse(reason: str, places: Places) -> None:
    """Show on the web page why a request for an update was not carried out."""
    print(reason, file=sys.stderr)
    write(places.update_refusal, line_of(reason) + "\n", 0o644)
    card.publish(places, start_of(places))
