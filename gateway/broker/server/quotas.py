"""Converts `[quotas]` and `[[user_quotas]]` to the broker core's quotas."""

import re

from gateway.broker.core.limits import HELD_BYTES_MAX
from gateway.broker.core.quota import (
    ANONYMOUS,
    LOCAL,
    LOCAL_PROGRAMS,
    NO_LIMIT,
    NO_USER,
    USER,
    Quota,
    Quotas,
)
from gateway.broker.disk_budget.budget import Limits as SpaceLimits
from gateway.broker.disk_budget.inventory import disk_of
from gateway.configuration import Configuration
from gateway.configuration.quotas import UserQuota
from gateway.process.files import descriptors

DISK_SHARE = 8
"""Divisor of the disk size: by default, the messages queued for sessions without a user may occupy
one eighth of the disk."""

JOURNAL_SHARE = 8
"""Divisor of the session log's disk space: by default, clients without a user may write one eighth
of it to the journal per day. They then need a week to displace the data of others."""

JOURNAL_BYTES_MIN = 1 << 20
"""Lower bound of the default journal limit, for small disks."""


class ConfiguredQuotas(Quotas):
    """Configured quotas of users. The first `[[user_quotas]]` table that matches a user applies."""

    def __init__(self, anonymous: Quota, tables: tuple[UserQuota, ...]) -> None:
        super().__init__()
        self._anonymous = anonymous
        self._tables = [(pattern_of(table.user), table) for table in tables]

    def quota_of(self, username: str) -> Quota:
        """Return the quota of a user, or of clients without a user name."""
        if username == NO_USER:
            return self._anonymous
        if username == LOCAL_PROGRAMS:
            return Quota(LOCAL)
        for pattern, table in self._tables:
            if pattern.fullmatch(username) is not None:
                return quota_in(table)
        return Quota(USER)


def quotas_of(configuration: Configuration) -> ConfiguredQuotas:
    """Return the quotas of all users and of clients without a user name.

    If users are not authenticated, the only limit on clients without a user name is the session
    expiry.
    """
    anonymous = Quota(ANONYMOUS)
    if configuration.authenticates:
        anonymous = _anonymous_of(configuration)
    expiry_seconds = configuration.quotas.anonymous_session_expiry
    anonymous.session_expiry_seconds = expiry_seconds
    return ConfiguredQuotas(anonymous, configuration.user_quotas)


def _anonymous_of(configuration: Configuration) -> Quota:
    mqtt, quotas = configuration.mqtt, configuration.quotas
    quota = Quota(ANONYMOUS)
    share = quotas.anonymous_share
    quota.connections = max(1, descriptors.connections_within(mqtt.max_connections) * share // 100)
    quota.sessions = max(1, mqtt.max_sessions * share // 100)
    quota.subscription_bytes = mqtt.max_subscription_bytes * share // 100
    quota.retained = mqtt.max_retained * share // 100
    quota.retained_bytes = mqtt.max_retained_bytes * share // 100
    quota.held_bytes = HELD_BYTES_MAX * share // 100
    queued_bytes = quotas.anonymous_queued_bytes
    if queued_bytes is None:
        queued_bytes = disk_of(configuration.gateway.data_dir).total_bytes // DISK_SHARE
    quota.queued_bytes = queued_bytes
    quota.journal_bytes_per_day = quotas.anonymous_journal_bytes_per_day or _journal_bytes_per_day(
        configuration
    )
    return quota


def _journal_bytes_per_day(configuration: Configuration) -> int:
    total_bytes = disk_of(configuration.gateway.data_dir).total_bytes
    limits = SpaceLimits(
        log_max=configuration.disk.log_max, brokers_count=configuration.brokers_count
    )
    log_max = limits.of_disk(total_bytes).log_max
    return max(JOURNAL_BYTES_MIN, log_max // JOURNAL_SHARE)


def quota_in(table: UserQuota) -> Quota:
    """Return the quota that a `[[user_quotas]]` table gives to each matching user."""
    quota = Quota(USER)
    quota.connections = _or_unlimited(table.connections)
    quota.sessions = _or_unlimited(table.sessions)
    quota.session_expiry_seconds = table.session_expiry
    quota.subscriptions = _or_unlimited(table.subscriptions)
    quota.retained = _or_unlimited(table.retained)
    quota.retained_bytes = _or_unlimited(table.retained_bytes)
    quota.queued_bytes = _or_unlimited(table.queued_bytes)
    quota.held_bytes = _or_unlimited(table.awaiting_rel_bytes)
    quota.login_rate = table.login_rate or 0
    quota.packet_rate = table.packet_rate or 0
    quota.byte_rate = table.byte_rate or 0
    quota.journal_bytes_per_day = table.journal_bytes_per_day or 0
    return quota


def _or_unlimited(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit


def pattern_of(names: str) -> re.Pattern[str]:
    """Return a regular expression for a name pattern in which `*` matches any characters."""
    return re.compile(".*".join(re.escape(part) for part in names.split("*")), re.DOTALL)
