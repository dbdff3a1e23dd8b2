"""Alarms from the status page's process, stored until the bridge publishes them.

The status page has no MQTT client of its own. It sends the current state of each kind of alarm to
the broker. The bridge receives the alarms with the answer to its next status report.
"""

import json
import re
import time
from collections.abc import Callable
from typing import Any, Final

from gateway.broker.server.control.refused import Refused, text_of

ALARMS_BYTES_MAX: Final = 64 * 1024
"""Maximum size of all alarms as JSON, in bytes. A status report has the same limit."""
KINDS_MAX: Final = 100
_KIND: Final = re.compile(r"[a-z][a-z_]{0,39}")
"""Pattern for the name of a kind of alarm, which becomes a level of a topic."""


class Alarms:
    """The latest alarms that the status page's process has reported, keyed by kind of alarm."""

    def __init__(self) -> None:
        self._kinds: dict[str, Any] = {}
        self._number = 0
        """Version number of the stored alarms. It also increases across a restart of the broker."""

    def take(self, request: dict[str, Any]) -> dict[str, Any]:
        """Handle the command `alarms`. The alarms in the request replace all stored alarms.

        Raises:
            Refused: the alarms do not conform to docs/formats/control-socket.md, or are too large.
        """
        kinds = request.get("alarms")
        if not isinstance(kinds, dict) or len(kinds) > KINDS_MAX:
            raise Refused("bad_request", f"'alarms' is an object of at most {KINDS_MAX} members")
        for kind, value in kinds.items():
            if _KIND.fullmatch(kind) is None or not (value is None or isinstance(value, dict)):
                raise Refused("bad_request", "'alarms' has objects or null, by names of a-z and _")
        if len(json.dumps(kinds)) > ALARMS_BYTES_MAX:
            raise Refused("bad_request", f"'alarms' has at most {ALARMS_BYTES_MAX} bytes")
        if kinds != self._kinds:
            self._kinds = kinds
            self._number = time.time_ns()
        return {}

    @property
    def commands(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """Handler functions for the commands about alarms, keyed by command name."""
        return {"alarms": self.take, "acknowledge_alarm": _acknowledged}

    def since(self, number: object) -> dict[str, Any]:
        """Return the alarms for an answer to the bridge.

        `number` is the version number of the alarms that the bridge received last. If the bridge
        already has the current alarms, or no alarms have been stored, return an empty object.
        """
        if not self._number or number == self._number:
            return {}
        return {"alarms": self._kinds, "alarms_number": self._number}


def _acknowledged(request: dict[str, Any]) -> dict[str, Any]:
    """Validate the status page's report that a person has acknowledged an alarm.

    The function stores nothing: the status page's process stores the acknowledgement, and the
    caller records an event. Raises Refused if the report is invalid.
    """
    text_of(request, "id")
    text_of(request, "subject")
    return {}
