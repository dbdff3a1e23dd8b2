"""Defines, for each key, when a changed value takes effect.

`docs/configuration.md` contains the same information, and a test compares the two. The response to
a reload command is derived from this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from gateway.configuration.listener import Listener, paired
from gateway.configuration.whole import Configuration
from gateway.process.declarations.section import Section, keys_of


class Effect(StrEnum):
    """The point in time at which a changed key takes effect.

    The documentation uses the values of this enumeration.
    """

    NOW = "at the reload, for all"
    NEW_CONNECTIONS = "at the reload, for new connections"
    ENDS_CONNECTIONS = "at the reload; affected connections end"
    BRIDGE = "at the reload, by the bridge"
    PROCESS = "at a restart of that process alone"
    RESTART = "at a restart of the gateway"


PROCESSES: Final[Mapping[str, str]] = {
    "session_log": "upload",
    "upload": "upload",
    "alarms": "api",
    "alarms.topic": "bridge",
    "bridge": "bridge",
    "serial": "bridge",
    "uplink": "uplink",
    "api": "api",
}
"""Sections and keys used by processes other than the broker, with the process's subcommand."""

_NOW, _NEW, _ENDS = Effect.NOW, Effect.NEW_CONNECTIONS, Effect.ENDS_CONNECTIONS
_PROCESS, _RESTART = Effect.PROCESS, Effect.RESTART


def _all(effect: Effect, *keys: str) -> dict[str, Effect]:
    return dict.fromkeys(keys, effect)


EFFECTS: Final[Mapping[str, Mapping[str, Effect]]] = {
    "gateway": _all(
        _RESTART, "id", "data_dir", "control_dir", "control_group", "status_group", "operate_group"
    ),
    "listeners": {
        # A listener with another address is a new one. It is opened, and the old one is closed.
        **_all(_ENDS, "bind", "port", "path", "protocol"),
        "name": _ENDS,
        **_all(_ENDS, "anonymous", "proxy_protocol", "proxy_protocol_certificates"),
        **_all(_NEW, "allow_anonymous_network", "websocket_path", "origins", "tls"),
        **_all(_NEW, "max_connections", "max_connection_rate"),
        **_all(_NEW, "max_packet_rate", "max_byte_rate"),
        **_all(_NEW, "sessions", "login_rate", "packet_rate", "byte_rate"),
    },
    "queues": _all(_NOW, "client", "when_full"),
    "mqtt": {
        **_all(_NOW, "max_inflight", "max_mqueue_len", "max_mqueue_bytes"),
        "max_queue_memory": _NOW,
        **_all(_NOW, "mqueue_store_qos0", "max_awaiting_rel_bytes"),
        **_all(_NEW, "max_awaiting_rel", "await_rel_timeout", "retry_interval"),
        **_all(_NEW, "max_packet_size", "max_topic_alias", "max_keep_alive"),
        **_all(_NOW, "max_session_expiry", "check_payload_format"),
        **_all(_NEW, "max_connections", "connect_timeout", "max_sessions"),
        **_all(_NOW, "max_subscriptions", "max_subscription_bytes"),
        **_all(_NOW, "max_topic_levels", "max_retained", "max_retained_bytes"),
        **_all(_NOW, "maximum_qos", "retain_available", "message_size_limit"),
        **_all(_NOW, "check_retain_source"),
        **_all(_NEW, "max_write_buffer", "protocol_versions"),
        **_all(_NEW, "allow_zero_length_clientid", "allow_control_characters"),
        "sys_interval": _NOW,
    },
    "quotas": {
        **_all(_NOW, "anonymous_share", "anonymous_queued_bytes"),
        "anonymous_session_expiry": _NOW,
        **_all(_NEW, "max_connections_per_address", "exempt_addresses"),
        **_all(_NEW, "max_connection_rate_per_address", "max_sessions_per_address"),
        **_all(_NEW, "max_packet_rate_per_address", "max_byte_rate_per_address"),
        "anonymous_journal_bytes_per_day": _NEW,
    },
    "user_quotas": {
        **_all(_NOW, "user", "sessions", "session_expiry", "subscriptions"),
        **_all(_NOW, "retained", "retained_bytes", "queued_bytes"),
        "awaiting_rel_bytes": _NOW,
        **_all(_NEW, "connections", "login_rate", "packet_rate", "byte_rate"),
        "journal_bytes_per_day": _NEW,
    },
    "flapping": _all(_NOW, "enable", "max_count", "window_time", "ban_time"),
    "limits": _all(
        _NOW,
        "max_uncommitted",
        "commit_delay",
        "lazy_commit_delay",
        "checkpoint_interval",
        "max_journal",
    ),
    "disk": _all(_NOW, "free_min", "log_max", "log_max_files", "damaged_max", "reserve"),
    "access": {
        **_all(_ENDS, "password_file", "rules_file", "order", "jwt", "mysql"),
        "sessions_outlive_proof": _NOW,
    },
    "hooks": {"module": _RESTART},
    "session_log": {"payload_topics": _NOW, "seal_after": _PROCESS},
    "upload": _all(_PROCESS, "target", "sent_keep", "sent_keep_files", "checksum_header"),
    "bridge": _all(
        _PROCESS,
        "client_id",
        "broker",
        "username",
        "password_file",
        "tls",
        "outbox_max",
        "outbox_max_age",
        "window",
        "commit_delay",
        "availability_topic",
        "home_assistant_prefix",
        "commands",
    ),
    "alarms": {
        "topic": Effect.BRIDGE,
        **_all(_PROCESS, "disk_free", "clock_unsynchronised", "upload_backlog"),
        **_all(_PROCESS, "temperature", "card_life", "wrong_passwords"),
    },
    "serial": _all(
        Effect.BRIDGE,
        "name",
        "path",
        "usb",
        "address",
        "framing",
        "baud_rate",
        "line",
        "flow_control",
        "low_latency",
        "when_full",
        "rs485",
        "rs485_rts",
        "rs485_delay_before_send",
        "rs485_delay_after_send",
        "silent_after",
        "reset_after",
        "device_silent_after",
        "dtr",
        "rts",
        "units",
        "device",
        "readings",
    ),
    "console": _all(_RESTART, "uart"),
    "uplink": _all(
        _PROCESS,
        "address",
        "protocol",
        "client_id",
        "username",
        "password_file",
        "tls",
        "topics",
        "queue_max",
        "window",
        "session_expiry",
        "availability_topic",
        "local_broker",
        "local_username",
        "local_password_file",
    ),
    "api": _all(
        _PROCESS,
        "bind",
        "port",
        "hosts",
        "viewers",
        "operators",
        "administrators",
        "viewer_groups",
        "operator_groups",
        "administrator_groups",
        "tokens_file",
        "allow_anonymous_network",
        "tls",
    ),
}
"""Effects by section and key. For a listener's `tls`, see also `ends_connections`."""

LISTS_AS_ONE: Final = ("queues", "user_quotas", "serial")
"""Lists of tables that are reported as a whole if any of their tables changes."""


@dataclass(frozen=True)
class Changes:
    """Keys with changed values (`section.key`), grouped by when they take effect."""

    taken: tuple[str, ...]
    """Changed keys that the broker and the bridge apply at the reload. They include the keys in
    `new_connections`."""
    new_connections: tuple[str, ...]
    """Keys in `taken` that do not affect existing connections."""
    processes: Mapping[str, tuple[str, ...]]
    """Changed keys that other processes apply when they are restarted, by process."""
    needs_restart: tuple[str, ...]
    """Keys that take effect only after a restart of the gateway."""


def process_of(name: str) -> str | None:
    """Return the subcommand of the process that uses a key, or None if it is the broker."""
    return PROCESSES.get(name, PROCESSES.get(name.partition(".")[0]))


def changes_between(before: Configuration, after: Configuration) -> Changes:
    """Return the keys with different values, grouped by when the changes take effect."""
    taken: list[str] = []
    new_connections: list[str] = []
    needs_restart: list[str] = []
    processes: dict[str, list[str]] = {}
    for name, effect in _differing(before, after):
        process = process_of(name)
        if effect is Effect.RESTART:
            needs_restart.append(name)
        elif effect is not Effect.PROCESS:
            taken.append(name)
        if effect is Effect.NEW_CONNECTIONS:
            new_connections.append(name)
        if process is not None and effect is not Effect.BRIDGE:
            processes.setdefault(process, []).append(name)
    return Changes(
        tuple(taken),
        tuple(new_connections),
        {process: tuple(names) for process, names in processes.items()},
        tuple(needs_restart),
    )


def in_force(before: Configuration, after: Configuration) -> Configuration:
    """Return the configuration that applies after a reload.

    Keys that need a restart keep their values from `before`. All other values are from `after`.
    """
    sections: dict[str, Any] = {}
    for name in keys_of(Configuration):
        old, new = getattr(before, name), getattr(after, name)
        waiting = [key for key, effect in EFFECTS[name].items() if effect is Effect.RESTART]
        if isinstance(new, Section) and waiting:
            values = {each.name: getattr(new, each.name) for each in fields(new)}
            sections[name] = type(new)(**values | {key: getattr(old, key) for key in waiting})
        else:
            sections[name] = new
    return replace(after, **sections)


def _differing(before: Configuration, after: Configuration) -> list[tuple[str, Effect]]:
    found: list[tuple[str, Effect]] = []
    for name in keys_of(Configuration):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if name == "listeners":
            found += _differing_listeners(old, new)
        elif name in LISTS_AS_ONE:
            found.append((name, next(iter(EFFECTS[name].values()))))
        else:
            keys = [key for key in keys_of(type(old)) if getattr(old, key) != getattr(new, key)]
            found += [(f"{name}.{key}", EFFECTS[name][key]) for key in keys]
    return found


def _differing_listeners(
    before: tuple[Listener, ...], after: tuple[Listener, ...]
) -> list[tuple[str, Effect]]:
    pairs = paired(before, after)
    differing = {
        key
        for old, new in pairs
        if old is not None and new is not None
        for key in keys_of(Listener)
        if getattr(old, key) != getattr(new, key)
    }
    found = [
        (f"listeners.{key}", EFFECTS["listeners"][key])
        for key in keys_of(Listener)
        if key in differing
    ]
    if any(old is None or new is None for old, new in pairs):
        found.insert(0, ("listeners", Effect.ENDS_CONNECTIONS))
    return found
