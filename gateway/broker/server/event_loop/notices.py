"""Log lines about misbehaving clients, limited in number per second."""

import logging

from gateway.broker.core.statistics import Statistics

logger = logging.getLogger(__name__)

NOTICES_PER_SECOND_MAX = 10
"""Log lines per second about misbehaving clients: a flood must not fill the journal on the card."""


DENIALS_PER_SECOND_MAX = 10
"""The same for denials by access rules."""

TAKEOVERS_PER_SECOND_MAX = 10
"""The same for devices that share a client identifier."""


def log_notices(statistics: Statistics, now: float) -> None:
    """Log what the core has noted since the last call. Called once a second."""
    statistics.recently_denied.advance(now)
    statistics.recently_dropped.advance(now)
    for sentence, client_id in statistics.denials.take(now, DENIALS_PER_SECOND_MAX):
        _log(sentence, client_id)
    for sentence, client_id in statistics.takeovers.take(now, TAKEOVERS_PER_SECOND_MAX):
        _log(sentence, client_id)
    notices, left_out = statistics.notices, statistics.notices_left_out
    statistics.notices, statistics.notices_left_out = [], 0
    for sentence, client_id in notices[:NOTICES_PER_SECOND_MAX]:
        _log(sentence, client_id)
    left_out += max(0, len(notices) - NOTICES_PER_SECOND_MAX)
    if left_out:
        logger.warning("%d more such events in this second; the counters have them", left_out)


def _log(sentence: str, client_id: str) -> None:
    # A field under systemd: journalctl CLIENT_ID=...
    logger.warning("%s", sentence, extra={"CLIENT_ID": client_id} if client_id else None)
