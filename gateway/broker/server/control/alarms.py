"""Alarms that the page's process reports, kept for the bridge, which publishes them.

The page has no MQTT client and only reads. It hands over what each kind of alarm is now; the bridge
receives it with the answer to its next report.
"""

import json
import re
import time
from collections.abc import Callable
from typing import Any, Final

from gateway.broker.server.control.refused import Refused, text_of

ALARMS_BYTES_MAX: Final = 64 * 1024
"""Bytes of all alarms as JSON: those of a report, and half a line of the protocol."""
KINDS_MAX: Final = 100
_KIND: Final = re.compile(r"[a-z][a-z_]{0,39}")
"""A kind is a topic level."""


class Alarms:
    """The latest alarms by kind."""

    def __init__(self) -> None:
        self._kinds: dict[str, Any] = {}
        self._number = 0
        """Number of this state. It grows, also over a restart of the broker."""

    def take(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer `alarms`: replace all alarms.

        Raises:
            Refused: the alarms are not as docs/formats/control-socket.md has them, or too large.
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
        """The commands that are answered here, by name."""
        return {"alarms": self.take, "acknowledge_alarm": _acknowledged}

    def since(self, number: object) -> dict[str, Any]:
        """Return the alarms for an answer, if they are not those of `number`."""
        if not self._number or number == self._number:
            return {}
        return {"alarms": self._kinds, "alarms_number": self._number}


def _acknowledged(request: dict[str, Any]) -> dict[str, Any]:
    """Accept that a person has acknowledged an alarm, which the page's process keeps.

    Its event follows.
    """
    text_of(request, "id")
    text_of(request, "subject")
    return {}
