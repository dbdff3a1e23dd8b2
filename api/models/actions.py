"""Arguments and results of the actions that the broker executes, and the list of active bans."""

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
    """`operator`: an operator created the ban; `flapping`: the client connected too often."""
    since_ms: Milliseconds
    until_ms: Milliseconds | None
    """Time at which the ban ends; null if it applies until it is lifted."""


class BanPage(Reported):
    """A page of active bans, oldest first."""

    bans: list[Ban]
    next: Count | None
    """Send this value as `first` to get the next page; null on the last page."""


class Given(BaseModel):
    """Base class of action arguments.

    Validation is strict: unknown fields are rejected, not ignored.
    """

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True
    )


class Kick(Given):
    client_id: Annotated[str, Field(max_length=limits.CLIENT_ID_CHARACTERS_MAX)]
    """Client to disconnect; its session is kept."""


class NewBan(Given):
    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=limits.BAN_CHARACTERS_MAX)]
    """A client identifier, a user name, or an address or network: `192.0.2.0/24`."""
    reason: Annotated[str, Field(max_length=limits.BAN_REASON_CHARACTERS_MAX)] = ""
    """Reason that is shown in the log and in the list, and sent to MQTT 5.0 clients."""
    seconds: Annotated[float, Field(gt=0, le=BAN_SECONDS_MAX)] | None = None
    """Duration of the ban; null if it applies until it is lifted."""


class OldBan(Given):
    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=limits.BAN_CHARACTERS_MAX)]


class Reload(Given):
    """Arguments of a reload: an empty object, `{}`."""


class Restart(Given):
    """Arguments of a restart: an empty object, `{}`."""


class Kicked(Reported):
    kicked: bool


class Banned(Reported):
    banned: Ban
    ended: Count
    """Number of connections that were closed."""
    kept: bool
    """True if the ban was written to disk; if false, it applies until the broker stops."""


class Lifted(Reported):
    lifted: Ban
    kept: bool


class Reloaded(Reported):
    """Result of a reload of the configuration.

    Configuration keys have the form `section.key`.
    """

    changed: list[str]
    """Keys whose new values are already in effect."""
    new_connections: list[str]
    """Keys of `changed` that only affect new connections."""
    processes: dict[str, list[str]]
    """Keys by process; each key takes effect when that process restarts."""
    needs_restart: list[str]
    """Keys that take effect when the whole gateway restarts."""
    connections_ended: Count


class Restarted(Reported):
    """Result of a restart of the gateway's programs, or of the machine."""

    requested: bool
    """Always true: systemd now executes the request. The page does not respond meanwhile."""


class BackupDownload(Given):
    """Arguments of the command that records the download of a backup in the session log."""

    data: bool
    """True if the backup contains the gateway's data, not only its configuration."""
    bytes: Count


class Recorded(Reported):
    recorded: bool
