"""Events of the session log, the newest first."""

from typing import Annotated

from pydantic import ConfigDict, Field

from api.models.values import Count, Milliseconds, Reported


class Event(Reported):
    """An event, with the further fields that the session log has for it."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)

    sequence: Count
    time: Milliseconds
    """By the gateway's clock."""
    event: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
    client_id: str = ""
    """Empty for events that are of no session."""

    def text(self, name: str) -> str:
        """Return a further field as text; empty if the event has none of this name."""
        value = (self.model_extra or {}).get(name)
        return "" if value is None or isinstance(value, dict | list) else str(value)

    def number(self, name: str) -> int | None:
        """Return a further field that is a whole number; else None."""
        value = (self.model_extra or {}).get(name)
        return value if type(value) is int else None


class EventPage(Reported):
    """A page of events."""

    events: list[Event]
    next: Count | None
    """Give this as `before` to get the next page; null on the last one."""
