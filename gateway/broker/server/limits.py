"""Converts the configuration to limits for the broker core and for disk space."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gateway.broker.access.rules.rule import ClientPattern
from gateway.broker.core.limits import NO_MESSAGE_SIZE_LIMIT, Limits
from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.core.when_full import WhenFull
from gateway.broker.disk_budget.budget import Limits as SpaceLimits
from gateway.configuration import Configuration
from gateway.process.files import descriptors

CGROUP_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")
"""The file in which a container finds the memory limit of its control group."""

MEMORY_SHARE = 8
"""The queues of clean sessions may use one eighth of the machine's memory: 64 of 512 MiB."""

QUEUE_MEMORY_BYTES_MIN = 16 << 20
QUEUE_MEMORY_BYTES_MAX = 256 << 20
"""Upper bound of the default memory for queues: with more, queued messages would only get older."""


def apply_limits(limits: Limits, configuration: Configuration) -> None:
    """Set all limits of the broker core from `[mqtt]` and `[[queues]]`."""
    mqtt = configuration.mqtt
    limits.max_inflight = mqtt.max_inflight
    limits.max_mqueue_len = mqtt.max_mqueue_len or NO_LIMIT
    limits.max_mqueue_bytes = mqtt.max_mqueue_bytes
    limits.max_queue_memory_bytes = mqtt.max_queue_memory or queue_memory_of(memory_bytes())
    limits.mqueue_store_qos0 = mqtt.mqueue_store_qos0
    limits.max_awaiting_rel = mqtt.max_awaiting_rel
    limits.max_awaiting_rel_bytes = mqtt.max_awaiting_rel_bytes
    limits.await_rel_timeout_seconds = mqtt.await_rel_timeout
    limits.retry_interval_seconds = mqtt.retry_interval
    limits.max_packet_size_bytes = mqtt.max_packet_size
    limits.max_topic_alias = mqtt.max_topic_alias
    limits.check_payload_format = mqtt.check_payload_format
    limits.max_keep_alive_seconds = int(mqtt.max_keep_alive)
    limits.max_session_expiry_seconds = mqtt.max_session_expiry
    limits.max_connections = descriptors.connections_within(mqtt.max_connections)
    limits.connect_timeout_seconds = mqtt.connect_timeout
    limits.max_subscriptions = mqtt.max_subscriptions
    limits.max_topic_levels = mqtt.max_topic_levels
    limits.max_write_buffer_bytes = mqtt.max_write_buffer
    limits.max_retained = mqtt.max_retained
    limits.max_subscription_bytes = mqtt.max_subscription_bytes
    limits.max_retained_bytes = mqtt.max_retained_bytes
    limits.max_sessions = mqtt.max_sessions
    limits.maximum_qos = mqtt.maximum_qos
    limits.retain_available = mqtt.retain_available
    limits.check_retain_source = mqtt.check_retain_source
    limits.message_size_limit_bytes = mqtt.message_size_limit or NO_MESSAGE_SIZE_LIMIT
    limits.protocol_versions = mqtt.protocol_versions
    limits.allow_zero_length_clientid = mqtt.allow_zero_length_clientid
    limits.allow_control_characters = mqtt.allow_control_characters
    limits.when_full_of = when_full_of(configuration)
    limits.queues_refuse = any(each.when_full == "refuse" for each in configuration.queues)


def memory_bytes(limit_file: Path = CGROUP_LIMIT) -> int:
    """Return the machine's memory in bytes, or the control group's limit if that is lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = limit_file.read_text().strip()
    except OSError:
        return total  # no control groups, or none that is limited
    return min(total, int(limit)) if limit.isdecimal() else total


def queue_memory_of(memory_total_bytes: int) -> int:
    """Return the default memory limit in bytes for the queues of clean sessions."""
    share = memory_total_bytes // MEMORY_SHARE
    return max(QUEUE_MEMORY_BYTES_MIN, min(share, QUEUE_MEMORY_BYTES_MAX))


def bound_by_files(configuration: Configuration) -> str | None:
    """Return a warning if the limit on open files allows fewer connections than configured.

    Return None if the limit is high enough. The warning is for the log and the status page.
    """
    configured = configuration.mqtt.max_connections
    most = descriptors.connections_within(configured)
    if most == configured:
        return None
    limit = descriptors.limit()
    return (
        f"At most {most} connections can be open, instead of {configured} ([mqtt] "
        f"max_connections): this process may open {limit} files, and {limit - most} of them are "
        f"reserved. Raise the hard limit of open files to {configured + descriptors.RESERVED} "
        "(LimitNOFILE of the service, --ulimit nofile of a container)"
    )


def when_full_of(configuration: Configuration) -> Callable[[str], WhenFull] | None:
    """Return a function that determines how a client's queue behaves when it is full.

    The function's argument is the client identifier. Return None if there is no `[[queues]]` table.
    """
    policies = [
        (ClientPattern(each.client), WhenFull[each.when_full.upper()])
        for each in configuration.queues
    ]

    def when_full_of_client(client_id: str) -> WhenFull:
        fitting = (when_full for pattern, when_full in policies if pattern.matches(client_id))
        return next(fitting, WhenFull.SLOW)

    return when_full_of_client if policies else None


def space_limits_of(configuration: Configuration) -> SpaceLimits:
    """Return the limits on disk space from the section `[disk]`."""
    disk = configuration.disk
    return SpaceLimits(
        disk.free_min,
        disk.log_max,
        disk.damaged_max,
        disk.reserve,
        configuration.brokers_count,
        disk.log_max_files,
    )
