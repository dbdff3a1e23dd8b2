"""The commands about bans on the control sockets (docs/formats/control-socket.md)."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from gateway.broker.access.bans_file import Source, ban_of, kind_of, value_of
from gateway.broker.server.bans import Bans, TooManyBans
from gateway.broker.server.control.refused import Refused

LISTED_MAX = 100
"""Maximum number of bans per answer. Even with the longest names and reasons, they fit into one
line of the protocol."""

SECONDS_MAX = 10 * 365 * 86_400


class BanRequests:
    """Handlers for the commands `ban`, `bans` and `lift_ban`."""

    def __init__(self, bans: Bans) -> None:
        self._bans = bans

    @property
    def commands(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        """Handler functions for the commands about bans, keyed by command name.

        Some of them are coroutine functions, so their results must be awaited.
        """
        return {"ban": self.ban, "bans": self.listed, "lift_ban": self.lift}

    async def ban(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ban a client, a user or an address.

        Raises Refused if the request is invalid or the list is full.
        """
        time_ms, seconds = self._bans.time_ms(), request.get("seconds")
        if seconds is not None and not (
            isinstance(seconds, int | float)
            and not isinstance(seconds, bool)
            and 0 < seconds <= SECONDS_MAX
        ):
            raise Refused("bad_request", f"'seconds' has to be a number up to {SECONDS_MAX}")
        record = {
            "kind": request.get("kind"),
            "value": request.get("value"),
            "reason": request.get("reason", ""),
            "source": Source.OPERATOR,
            "since_ms": time_ms,
            "until_ms": None if seconds is None else time_ms + int(seconds * 1000),
        }
        try:
            ban = ban_of(record)
            ended, is_kept = await self._bans.add(ban)
        except (ValueError, TooManyBans) as error:
            raise Refused("bad_request", str(error)) from None
        return {"banned": asdict(ban), "ended": ended, "kept": is_kept}

    def listed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return one page of bans. The request's key `first` is the index of the page's first ban.

        Raises Refused if the index is invalid.
        """
        first = request.get("first", 0)
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            raise Refused("bad_request", "'first' has to be a number from 0 on")
        bans = self._bans.listed()
        following = first + LISTED_MAX
        return {
            "bans": [asdict(ban) for ban in bans[first:following]],
            "next": following if following < len(bans) else None,
        }

    async def lift(self, request: dict[str, Any]) -> dict[str, Any]:
        """Lift a ban. Raises Refused if the request is invalid or there is no such ban."""
        written = request.get("value")
        if not isinstance(written, str):
            raise Refused("bad_request", "'value' has to be a string")
        try:
            kind = kind_of(request.get("kind"))
            value = value_of(kind, written)
        except ValueError as error:
            raise Refused("bad_request", str(error)) from None
        lifted = await self._bans.lift(kind, value)
        if lifted is None:
            raise Refused("not_found", f"no ban of {kind} {value[:200]!r}")
        ban, is_kept = lifted
        return {"lifted": asdict(ban), "kept": is_kept}
