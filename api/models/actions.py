"""Arguments and results of actions at the broker, and its list of bans."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from api import limits
from api.models.values import Count, Milliseconds, Reported

BAN_SECONDS_MAX = 10 * 365 * 86_400
Kind = Literal["client", "user", "address"]


class Ban(Reported):
    kind: str
    """`client`, `user` or `address`."""
    value: str
    """A client identifier, a user name, or a network: `192.0.2.7/32`."""
    reason: str
    source: str
    """`operator`: by hand; `flapping`: the client connected too often."""
    since_ms: Milliseconds
    until_ms: Milliseconds | None
    """Null: until it is lifted."""


class BanPage(Reported):
    """A page of active bans, oldest first."""

    bans: list[Ban]
    next: Count | None
    """Give this as `first` to get the next page; null on the last one."""


class Given(BaseModel):
    """Base of arguments. Strict: unknown fields are rejected, not ignored."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )


class Kick(Given):
    client_id: Annotated[str, Field(max_length=limits.CLIENT_ID_CHARACTERS_MAX)]
    """Client whose connection ends; its session stays."""


class NewBan(Given):
    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=limits.BAN_CHARACTERS_MAX)]
    """A client identifier, a user name, or an address or network: `192.0.2.0/24`."""
    reason: Annotated[str, Field(max_length=limits.BAN_REASON_CHARACTERS_MAX)] = ""
    """Shown in the log and in the list, and sent to MQTT 5.0 clients."""
    seconds: Annotated[float, Field(gt=0, le=BAN_SECONDS_MAX)] | None = None
    """Null: until it is lifted."""


class OldBan(Given):
    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=limits.BAN_CHARACTERS_MAX)]


class Reload(Given):
    """Arguments of a reload: none, `{}`."""


class Kicked(Reported):
    kicked: bool


class Banned(Reported):
    banned: Ban
    ended: Count
    """Number of connections that ended."""
    kept: bool
    """True if it is on disk; if not, it applies until the broker ends."""


class Lifted(Reported):
    lifted: Ban
    kept: bool


class Reloaded(Reported):
    """Result of a reload, by key as `section.key`."""

    changed: list[str]
    """Keys that took effect now."""
    new_connections: list[str]
    """Keys of `changed` that only affect new connections."""
    processes: dict[str, list[str]]
    """Keys by process; each takes effect when the process restarts."""
    needs_restart: list[str]
    """Keys that take effect at a restart of the gateway."""
    connections_ended: Count
