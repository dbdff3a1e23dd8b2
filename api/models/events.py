"""Events of the session log, the newest first."""

from typing import Annotated

from pydantic import ConfigDict, Field

from api.models.values import Count, Milliseconds, Reported


class Event(Reported):
    """An event of the session log. Fields that depend on the kind of event are extra fields."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, allow_inf_nan=False)

    sequence: Count
    time: Milliseconds
    """Time of the event by the gateway's clock."""
    event: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$")]
    client_id: str = ""
    """Client identifier; empty for events that do not belong to a session."""

    def text(self, name: str) -> str:
        """Return the value of an extra field as a string, or an empty string if it is missing."""
        value = (self.model_extra or {}).get(name)
        return "" if value is None or isinstance(value, dict | list) else str(value)

    def number(self, name: str) -> int | None:
        """Return the value of an extra field if it is an integer, otherwise None."""
        value = (self.model_extra or {}).get(name)
        return value if type(value) is int else None


class EventPage(Reported):
    """A page of events, the newest first."""

    events: list[Event]
    next: Count | None
    """Send this value as `before` to get the next page; null on the last page."""
