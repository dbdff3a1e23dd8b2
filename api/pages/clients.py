"""Filters and order of a list of sessions, as the broker takes them."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class State(StrEnum):
    """Sessions that are listed."""

    ALL = "all"
    CONNECTED = "connected"
    AWAY = "away"
    DROPS = "drops"


class Sort(StrEnum):
    """Order of the sessions: by name, the longest silent first, or the largest number first."""

    CLIENT_ID = "client_id"
    LAST_SEEN = "last_seen"
    QUEUED = "queued"
    DROPPED = "dropped"
    RECEIVED = "received"
    DELIVERED = "delivered"


class Search(BaseModel):
    """Conditions that a session has to match, and the order."""

    model_config = ConfigDict(frozen=True)

    search: str = ""
    """Part of the client id; letters match in either case."""
    state: State = State.ALL
    user: str = ""
    sort: Sort = Sort.CLIENT_ID

    @property
    def is_narrow(self) -> bool:
        """True if it may leave out a session."""
        return bool(self.search or self.user) or self.state is not State.ALL

    @property
    def chosen(self) -> dict[str, str]:
        """The members that differ from their defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)
