"""How much memory the broker may take beside an attack, from the limits that are configured.

Not the worst case of all limits at once. Each attack states which bounds over all clients it
uses up, and how much it opens of what is bounded for each client only; docs/limits.md has them all.
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
"""The default of `[limits] max_uncommitted`; a test holds it to the configuration."""

AT_REST_BYTES: Final = 64 * 2**20
"""The process with the honest clients only: Python, the libraries and SQLite's page cache."""

BATCHES: Final = 2
"""One is collected while the one before is committed."""

WORK_BYTES: Final = 16 * 2**20
"""What comes and goes within a turn, rows of a checkpoint, and what the allocator does not give
back."""

ALWAYS: Final = {
    "two batches": BATCHES * MAX_UNCOMMITTED_BYTES,
    "read and waiting": UNREAD_BYTES_MAX,
    "routes": ROUTES_BYTES_MAX,
    "work": WORK_BYTES,
}
"""What any client may have the broker take."""

EXCHANGE_BYTES: Final = 20_000
PASSWORD_CHECK_BYTES: Final = 20 * 2**20
"""Argon2id as `oncegate passwd` writes it takes 19 MiB; each check has a thread of its own, whose
heap keeps as much again."""

QUEUES_BYTES: Final = 16 * 2**20
"""A thousand messages in each of a few queues, as `site` has them."""

BOUNDS: Final = {
    "queues": QUEUES_BYTES,
    "unfinished packets": PARTS_BYTES_MAX,
    "topic aliases": ALIASES_BYTES_MAX,
    "wills": WILLS_BYTES_MAX,
    "held messages": HELD_BYTES_MAX,
    "retained messages": LIMITS.max_retained_bytes,
    "subscriptions": LIMITS.max_subscription_bytes,
    "exchanges": EXCHANGES_MAX * EXCHANGE_BYTES,
    "password checks": PASSWORD_CHECKS_MAX * 2 * PASSWORD_CHECK_BYTES,
}
"""Bounds over all clients, which an attack may use up."""

CONNECTION_BYTES: Final = 10_240
"""`max_connections` says 100 MB for 10,000."""

HANDSHAKE_BYTES: Final = 49_152
"""What OpenSSL keeps of a connection, and the object around it."""

SLOW_READER_BYTES: Final = LIMITS.max_write_buffer_bytes + FORWARDED_BYTES_MAX

SESSION_BYTES: Final = 3_072


@dataclass(frozen=True)
class Allowance:
    """What an attack may have the broker hold, beside what any client may."""

    connections: int = 0
    """Open at a time."""
    handshakes: int = 0
    """Of these connections those with TLS."""
    slow_readers: int = 0
    sessions: int = 0
    """Left behind."""
    bounds: tuple[str, ...] = ()
    """Keys of BOUNDS."""


def extra_parts(allowance: Allowance) -> dict[str, int]:
    """What an attack may cost beside the rest, in bytes, by reason."""
    parts = {
        "connections": allowance.connections * CONNECTION_BYTES,
        "TLS": allowance.handshakes * HANDSHAKE_BYTES,
        "slow readers": allowance.slow_readers * SLOW_READER_BYTES,
        "sessions": allowance.sessions * SESSION_BYTES,
        **{name: BOUNDS[name] for name in allowance.bounds},
    }
    return {name: size for name, size in parts.items() if size}


def allowed_bytes(allowance: Allowance) -> int:
    """All that the process may take."""
    return AT_REST_BYTES + sum(ALWAYS.values()) + sum(extra_parts(allowance).values())
