"""Stores the results of provisioning: a report for people, a record for the web page, a digest.

The digest is the SHA-256 of the provisioning file that was applied last. This module does not
import the gateway, because it is used at every start and the import would take too long.
"""

import hashlib
import json

from oncegate_device.places import Places, write

REPORT = "gateway-report.txt"
"""File on the boot partition, which people read on another computer."""
RECORD = "provisioning.json"
"""File on the data partition with the lines of the report, for the web page."""
DIGEST = "gateway.toml.sha256"
"""File on the data partition with the digest of the applied gateway.toml.

The script `provision` compares the digest at each start.
"""


def write_report(lines: list[str], places: Places) -> None:
    """Write the lines of the report to the boot partition, which must be mounted writable."""
    (places.boot / REPORT).write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")


def write_record(lines: list[str], places: Places, *, is_taken: bool) -> None:
    """Store the lines of the report, for the card's status and the web page.

    The argument `is_taken` is True if gateway.toml was applied.
    """
    record = json.dumps({"taken": is_taken, "lines": lines}, indent=1) + "\n"
    write(places.device / RECORD, record, 0o644)


def write_digest(content: bytes, places: Places) -> None:
    """Record that a gateway.toml with these contents has been applied."""
    write(places.device / DIGEST, _digest_line(content, places), 0o644)


def is_applied(content: bytes, places: Places) -> bool:
    """Return True if a gateway.toml with these contents has already been applied."""
    try:
        return (places.device / DIGEST).read_text(encoding="utf-8") == _digest_line(content, places)
    except FileNotFoundError:
        return False


def _digest_line(content: bytes, places: Places) -> str:
    """Return a line with the SHA-256 of `content`, in the format of the program sha256sum."""
    return f"{hashlib.sha256(content).hexdigest()}  {places.file}\n"
