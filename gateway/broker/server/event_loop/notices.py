"""Writes log lines about misbehaving clients, up to a limited number per second."""

import logging

from gateway.broker.core.statistics import Statistics

logger = logging.getLogger(__name__)

NOTICES_PER_SECOND_MAX = 10
"""Maximum number of log lines per second about misbehaving clients: a flood of lines must not fill
the system journal on the SD card."""


DENIALS_PER_SECOND_MAX = 10
"""Maximum number of log lines per second about denials by access rules."""

TAKEOVERS_PER_SECOND_MAX = 10
"""Maximum number of log lines per second about devices that share a client identifier."""


def log_notices(statistics: Statistics, now: float) -> None:
    """Log the notices that the broker core has collected since the last call.

    Called once a second.
    """
    statistics.recently_denied.advance(now)
    statistics.recently_dropped.advance(now)
    for sentence, client_id in statistics.denials.take(now, DENIALS_PER_SECOND_MAX):
        _log(sentence, client_id)
    for sentence, client_id in statistics.takeovers.take(now, TAKEOVERS_PER_SECOND_MAX):
        _log(sentence, client_id)
    notices, dropped = statistics.notices, statistics.notices_dropped
    statistics.notices, statistics.notices_dropped = [], 0
    for sentence, client_id in notices[:NOTICES_PER_SECOND_MAX]:
        _log(sentence, client_id)
    dropped += max(0, len(notices) - NOTICES_PER_SECOND_MAX)
    if dropped:
        logger.warning("%d more such events in this second; the counters have them", dropped)


def _log(sentence: str, client_id: str) -> None:
    # A field under systemd: journalctl CLIENT_ID=...
    logger.warning("%s", sentence, extra={"CLIENT_ID": client_id} if client_id else None)
