"""Quotas for addresses, users and anonymous clients, and a limit on how often clients reconnect.

The sections are `[quotas]`, `[[user_quotas]]` and `[flapping]`.
"""

from dataclasses import dataclass
from typing import Annotated

from gateway.configuration.addresses import Network
from gateway.configuration.sections import KIB, MIB, YEAR_SECONDS
from gateway.process.declarations.quantities import Duration, Items, Size, Text, Whole
from gateway.process.declarations.section import Section

NAMES = Text(r"[^\x00]{1,1024}", "a user's name, in which * stands for any characters")


@dataclass(frozen=True, kw_only=True)
class Quotas(Section):
    """Quotas for each client address, and quotas that all anonymous clients share."""

    anonymous_share: Annotated[int, Whole(1, 100)] = 50
    anonymous_queued_bytes: Annotated[int, Size(MIB, 1 << 50)] | None = None
    anonymous_journal_bytes_per_day: Annotated[int, Size(MIB, 1 << 50)] | None = None
    anonymous_session_expiry: Annotated[
        float | None, Duration(1, 10 * YEAR_SECONDS, never=True)
    ] = None
    max_connections_per_address: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_connection_rate_per_address: Annotated[int, Whole(0, 1_000_000)] = 100
    max_sessions_per_address: Annotated[int, Whole(1, 100_000_000)] | None = None
    max_packet_rate_per_address: Annotated[int, Whole(1, 1_000_000)] | None = None
    max_byte_rate_per_address: Annotated[int, Size(128, 1 << 40)] | None = None
    exempt_addresses: Annotated[tuple[Annotated[str, Network()], ...], Items()] = ()


@dataclass(frozen=True, kw_only=True)
class UserQuota(Section):
    """A table `[[user_quotas]]`, with quotas that all clients of a user share.

    For each user, the first table whose pattern matches the user's name applies.
    """

    user: Annotated[str, Text(r"[^\x00]{1,1024}", "a user's name; * stands for any characters")] = (
        "*"
    )
    connections: Annotated[int, Whole(1, 1_000_000)] | None = None
    sessions: Annotated[int, Whole(1, 100_000_000)] | None = None
    session_expiry: Annotated[float, Duration(1, 10 * YEAR_SECONDS)] | None = None
    subscriptions: Annotated[int, Whole(0, 100_000_000)] | None = None
    retained: Annotated[int, Whole(0, 100_000_000)] | None = None
    retained_bytes: Annotated[int, Size(0, 1 << 40)] | None = None
    queued_bytes: Annotated[int, Size(KIB, 1 << 50)] | None = None
    awaiting_rel_bytes: Annotated[int, Size(KIB, 1 << 40)] | None = None
    login_rate: Annotated[int, Whole(1, 1_000_000)] | None = None
    packet_rate: Annotated[int, Whole(1, 1_000_000)] | None = None
    byte_rate: Annotated[int, Size(128, 1 << 40)] | None = None
    journal_bytes_per_day: Annotated[int, Size(KIB, 1 << 50)] | None = None


@dataclass(frozen=True, kw_only=True)
class Flapping(Section):
    """Settings for banning clients that reconnect too often. The keys are named as in EMQX."""

    enable: bool = False
    max_count: Annotated[int, Whole(1, 100_000)] = 15
    window_time: Annotated[float, Duration(1, 86_400)] = 60.0
    ban_time: Annotated[float, Duration(1, YEAR_SECONDS)] = 300.0
