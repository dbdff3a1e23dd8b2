"""Handles requests that the broker writes to files in /run/oncegate/card-requests.

An attacker who controls the broker controls these files. They are therefore read with limits and
without following links, and their contents are checked again.
"""

import json
import os
import stat
import sys
from pathlib import Path

from gateway.process.network_settings import NetworkSettingsError, change_in
from oncegate_device import card, network
from oncegate_device.places import Places, write
from oncegate_device.start import start_of

REQUEST_BYTES_MAX = 8 << 10
"""Maximum size of a request in bytes. A change of the network settings has less than 1,000."""
CHANGE, KEEP, UNDO = "change_network", "keep_network", "undo_network"


def carry_out(places: Places, run: network.Systemctl = network.systemctl) -> None:
    """Carry out the requests for changes to the network settings.

    If no new change is requested, undo a change whose trial period has ended.
    """
    if take(places.requests / UNDO) is not None:
        network.undo(places, "an administrator did not keep it", run)
    if take(places.requests / KEEP) is not None:
        run("start", network.KEEP_UNIT)
    request = take(places.requests / CHANGE)
    if request is not None:
        try:
            network.begin(change_in(_fields_of(request)), places, run)
        except (NetworkSettingsError, network.ChangeError) as error:
            _refuse(str(error), places)
        return
    network.expire(places, run)


def _refuse(reason: str, places: Places) -> None:
    """Show on the web page why a network change was refused.

    If another change is on trial, the page keeps showing that change. The refusal is then only
    logged.
    """
    print(f"Not changed: {reason}", file=sys.stderr)
    if not places.network_before.exists():
        record = {"state": "refused", "sentence": f"Nothing was changed. {reason}", "until_s": None}
        write(places.network_change, json.dumps(record) + "\n", 0o644)
        card.publish(places, start_of(places))


def _fields_of(request: bytes) -> dict[str, object]:
    value = object_in(request)
    if value is None:
        raise NetworkSettingsError("the request is not a JSON object: send it from the page again")
    return value


def object_in(request: bytes) -> dict[str, object] | None:
    """Parse a request, which must be a JSON object. Return None if it is not valid."""
    try:
        value = json.loads(request)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def take(file: Path) -> bytes | None:
    """Read the file of a request and delete it. Return None if the file does not exist.

    Return empty bytes if the file is too long, or is not a regular file.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags)
    except FileNotFoundError:
        return None
    except OSError:
        file.unlink()
        return b""
    with os.fdopen(descriptor, "rb") as opened:
        file.unlink()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        content = opened.read(REQUEST_BYTES_MAX + 1)
    return content if len(content) <= REQUEST_BYTES_MAX else b""
