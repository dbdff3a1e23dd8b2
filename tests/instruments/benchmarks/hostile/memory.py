"""The memory that the broker may use under attack, computed from the configured limits.

It is not the worst case of all limits together. Each attack names the limits over all clients that
it uses up, and the number of connections and sessions that it opens. docs/limits.md has all of
them.
"""

from dataclasses import dataclass
from typing import Final

from gateway.broker.access.logins.checks import PASSWORD_CHECKS_MAX
from gateway.broker.core.incoming import ALIASES_BYTES_MAX, PARTS_BYTES_MAX
from gateway.broker.core.limits import FORWARDED_BYTES_MAX, HELD_BYTES_MAX, WILLS_BYTES_MAX, Limits
from gateway.broker.core.topics.tree import ROUTES_BYTES_MAX
from gateway.broker.server.event_loop.exchanges import EXCHANGES_MAX
from gateway.broker.server.event_loop.reading import UNREAD_BYTES_MAX

LIMITS: Final = Limits()
MAX_UNCOMMITTED_BYTES: Final = 16 * 2**20
"""The default of `[limits] max_uncommitted`, which a test compares with the configuration."""

AT_REST_BYTES: Final = 64 * 2**20
"""The process with the honest clients only: Python, the libraries and SQLite's page cache."""

BATCHES: Final = 2
"""One batch is collected while the previous one is committed."""

WORK_BYTES: Final = 16 * 2**20
"""Temporary memory within a turn, rows of a checkpoint, and memory that the allocator keeps."""

ALWAYS: Final = {
    "two uncommitted batches": BATCHES * MAX_UNCOMMITTED_BYTES,
    "received data that waits to be processed": UNREAD_BYTES_MAX,
    "cached routes": ROUTES_BYTES_MAX,
    "temporary memory": WORK_BYTES,
}
"""Memory that any client can make the broker use, by reason."""

EXCHANGE_BYTES: Final = 20_000
PASSWORD_CHECK_BYTES: Final = 20 * 2**20
"""Argon2id as `oncegate passwd` configures it uses 19 MiB.

Each check has its own thread, whose heap keeps as much again.
"""

QUEUES_BYTES: Final = 16 * 2**20
"""A thousand messages in each of a few queues, as `site` configures them."""

BOUNDS: Final = {
    "queues": QUEUES_BYTES,
    "incomplete packets": PARTS_BYTES_MAX,
    "topic aliases": ALIASES_BYTES_MAX,
    "wills": WILLS_BYTES_MAX,
    "unreleased QoS 2 messages": HELD_BYTES_MAX,
    "retained messages": LIMITS.max_retained_bytes,
    "subscriptions": LIMITS.max_subscription_bytes,
    "authentication exchanges": EXCHANGES_MAX * EXCHANGE_BYTES,
    "password checks": PASSWORD_CHECKS_MAX * 2 * PASSWORD_CHECK_BYTES,
}
"""Limits over all clients in bytes, which an attack may use up."""

CONNECTION_BYTES: Final = 10_240
"""The documentation of `max_connections` gives 100 MB for 10,000 connections."""

HANDSHAKE_BYTES: Final = 49_152
"""The memory of OpenSSL for a connection, and of the object around it."""

SLOW_READER_BYTES: Final = LIMITS.max_write_buffer_bytes + FORWARDED_BYTES_MAX

SESSION_BYTES: Final = 3_072


@dataclass(frozen=True)
class Allowance:
    """The memory that an attack may add, in units that have a size in this module."""

    connections: int = 0
    """Connections that are open at the same time."""
    handshakes: int = 0
    """Number of TLS connections among them."""
    slow_readers: int = 0
    sessions: int = 0
    """Sessions that the attack leaves behind."""
    bounds: tuple[str, ...] = ()
    """Keys of BOUNDS that the attack uses up."""


def extra_parts(allowance: Allowance) -> dict[str, int]:
    """Return the additional memory that an attack may use, in bytes by reason."""
    parts = {
        "connections": allowance.connections * CONNECTION_BYTES,
        "TLS": allowance.handshakes * HANDSHAKE_BYTES,
        "slow readers": allowance.slow_readers * SLOW_READER_BYTES,
        "sessions": allowance.sessions * SESSION_BYTES,
        **{name: BOUNDS[name] for name in allowance.bounds},
    }
    return {name: size for name, size in parts.items() if size}


def allowed_bytes(allowance: Allowance) -> int:
    """Return the memory in bytes that the process may use in all."""
    return AT_REST_BYTES + sum(ALWAYS.values()) + sum(extra_parts(allowance).values())
