"""Filters and order of a list of sessions, in the form that the broker accepts."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class State(StrEnum):
    """Filter for a list of sessions by their state."""

    ALL = "all"
    CONNECTED = "connected"
    AWAY = "away"
    DROPS = "drops"


class Sort(StrEnum):
    """Order of the sessions: by client id, longest silence, or largest number of messages."""

    CLIENT_ID = "client_id"
    LAST_SEEN = "last_seen"
    QUEUED = "queued"
    DROPPED = "dropped"
    RECEIVED = "received"
    DELIVERED = "delivered"


class Search(BaseModel):
    """Conditions that a session must match, and the order of the list."""

    model_config = ConfigDict(frozen=True)

    search: str = ""
    """Part of the client identifier, not case-sensitive."""
    state: State = State.ALL
    user: str = ""
    sort: Sort = Sort.CLIENT_ID

    @property
    def is_narrow(self) -> bool:
        """True if the search has a condition that can exclude a session."""
        return bool(self.search or self.user) or self.state is not State.ALL

    @property
    def chosen(self) -> dict[str, str]:
        """The search fields that differ from their defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)
