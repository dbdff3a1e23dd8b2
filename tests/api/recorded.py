"""Responses of a broker as the contract (docs/formats/control-socket.md) shows them.

Each is built by a function, so that every test may change its own copy.
"""

from typing import Any

Json = dict[str, Any]

MEMORY = {"memory_bytes": 0, "memory_limit_bytes": 1 << 28, "slowing": 0, "filling": 0}
NOW_MS = 1_795_252_443_000
WELL: Json = {"damaged_share": 0.0, "damaged_share_seconds": 300, "silent_devices": []}
WELL |= dict.fromkeys(("devices_watched", "devices_silent", "overruns"), 0)
WELL |= {"damage_warning": False, "held": False, "line_errors": {}, "refused": {}}
UNASKED: Json = {"clock_ms": None, "failed": None, "unread": []}


def status() -> Json:
    return {
        "gateway": "gw-5f3a91c2",
        "boot": "0f3a77d1b2c94e65",
        "version": "0.1.0",
        "compiled": False,
        "pid": 812,
        "state": "running",
        "time_ms": NOW_MS,
        "clock": "synchronised",
        "started_ms": NOW_MS - 11_525_000,
        "uptime_seconds": 11_525.0,
        "listeners": [{"protocol": "mqtt", "bind": "127.0.0.1", "port": 1883}],
        "connections": {"open": 3, "accepted": 10, "refused": 0, "limit": 10_000},
        "sessions": {"connected": 3, "persistent": 2, "total": 4},
        "subscriptions": 5,
        "retained": 2,
        "messages": {
            "received": {"qos0": 120, "qos1": 48, "qos2": 18_423},
            "sent": {"qos0": 96, "qos1": 48, "qos2": 36_846},
            "dropped": {"queue_full": 0},
            "dropped_last_hour": [],
            "duplicates_suppressed": 7,
        },
        "queued": {"messages": 12, "bytes": 2_304} | MEMORY,
        "inflight": 1,
        "awaiting_release": 0,
        "errors": {"malformed_packet": 0},
        "shared_client_ids_last_hour": [],
        "denied_last_hour": [],
        "journal": {
            "batches": 9_214,
            "facts": 92_880,
            "first_sequence": 90_001,
            "last_sequence": 92_880,
            "exported_sequence": 92_850,
            "bytes": 1_254_112,
            "commit_ms_mean": 1.1,
            "commit_ms_max": 9.04,
            "commit_ms_max_last_hour": 3.0,
            "commit_histogram": {"bounds_ms": [1.0, 10.0], "counts": [5_000, 4_214, 0]},
        },
        "disk": {
            "total_bytes": 16_000_000_000,
            "free_bytes": 9_000_000_000,
            "free_min": 134_217_728,
            "full": False,
            "full_since_ms": None,
            "waits": False,
            "reserve": True,
            "removed": {"sent": 12},
        },
        "store": {"recovery": "clean", "detail": None},
        "operations": {"kick": 2, "refused": 1},
        "warnings": [],
    }


def full_disk(**bent: object) -> Json:
    """Return the status of a disk that has been almost full for five minutes."""
    since_ms = NOW_MS - 300_000
    full = {"free_bytes": 90_000_000, "full": True, "full_since_ms": since_ms}
    return {**status()["disk"], **full, **bent}


def bridge_status() -> Json:
    return {
        "mqtt": {
            "connected": True,
            "address": "127.0.0.1:1883",
            "session": "oncegate-bridge",
            "fault": None,
        },
        "outbox": {
            "waiting": 0,
            "in_flight": 1,
            "published": 18_423,
            "bytes": 40_960,
            "bytes_max": 1_048_576,
            "full_by": None,
            "delivery_seconds": 0.008,
        },
        "ports": [
            {
                "name": "greenhouse",
                "path": "/dev/serial/by-id/usb-Oncegate_Board_2A-if00",
                "framing": "board",
                "topic": "sensors/{device}/{quantity}",
                "state": "open",
                "trouble": None,
                "bytes": 812_340,
                "frames": 6_142,
                "readings": 6_140,
                "damaged": {"checksum": 2, "too_long": 0},
                **WELL,
                "left_out": {"not_measured": 4},
                "repeated_starts": 0,
                "resyncs": 2,
                "reopened": 1,
                "resets": 0,
                "dropped": {},
                "when_full": "stop_reading",
                "dropping": None,
                "silent_seconds": None,
                "last_frame_ms": NOW_MS - 400,
                "last_reading_ms": NOW_MS - 400,
                "devices": [
                    {
                        "device": "board-0000002a",
                        "boot": 3,
                        "sequence": 6_140,
                        "silent_seconds": None,
                        **UNASKED,
                        "last_ms": NOW_MS - 400,
                        "quantities": [
                            quantity("temperature", 21.5, "Cel"),
                            quantity("relative_humidity", 48.200000762939453, "%RH"),
                            quantity("pressure", 101_325, "Pa"),
                            quantity("pump", True, None),
                        ],
                    }
                ],
            },
            {
                "name": "gps",
                "path": "/dev/serial/by-id/usb-u-blox_7-if00",
                "framing": "nmea",
                "topic": "sensors/{device}/{quantity}",
                "state": "open",
                "trouble": None,
                "bytes": 5_812_340,
                "frames": 12_283,
                "readings": 12_283,
                "damaged": {},
                **WELL,
                "left_out": {},
                "repeated_starts": 0,
                "resyncs": 2,
                "reopened": 1,
                "resets": 0,
                "dropped": {},
                "when_full": "stop_reading",
                "dropping": None,
                "silent_seconds": None,
                "last_frame_ms": NOW_MS - 400,
                "last_reading_ms": NOW_MS - 1_200,
                "devices": [
                    {
                        "device": "gps",
                        "boot": 1,
                        "sequence": 12_283,
                        "silent_seconds": None,
                        **UNASKED,
                        "last_ms": NOW_MS - 1_200,
                        "quantities": [
                            quantity("latitude", 48.1173, "lat"),
                            quantity("longitude", 11.5166667, "lon"),
                            quantity("fix", "3D", None),
                        ],
                    }
                ],
            },
        ],
    }


def quantity(name: str, value: float | bool | str | None, unit: str | None) -> Json:
    return {"name": name, "value": value, "unit": unit, "time_ms": NOW_MS - 400, "steps": []}


def uploader_status() -> Json:
    return {
        "target": "file:///var/lib/oncegate/uploaded",
        "open": {"segment": 13, "events": 20},
        "sealed": {"count": 0, "bytes": 0},
        "sent": {"count": 12, "bytes": 120_000},
        "last_sealed_sequence": 92_850,
        "last_upload_ms": NOW_MS - 42_000,
        "failing_since_ms": None,
        "error": None,
        "public_keys": ["a1" * 32],
    }


def uplink_status() -> Json:
    counters = (
        *("forwarded", "forwarded_qos0", "dropped_qos0", "expired", "refused", "too_large"),
        *("looped", "unrouted", "republished", "unexpected_answers"),
    )
    way = {"waiting": 3, "in_flight": 1, "bytes": 512, "bytes_max": 268_435_456}
    side = {"connected": True, "connections": 2, "fault": None, "repeats": 4}
    return {
        "local": side | {"address": "127.0.0.1:1883", "session": "oncegate-uplink-01234567"},
        "remote": side | {"address": "up.example:8883", "session": "oncegate-gw-1-89abcdef"},
        "out": way | dict.fromkeys(counters, 0) | {"forwarded": 20_812},
        "in": way | dict.fromkeys(counters, 0) | {"forwarded": 17},
        "disk_full": False,
    }


def reports() -> Json:
    return {
        "bridge": {"time_ms": NOW_MS - 600, "age_seconds": 0.6, "status": bridge_status()},
        "uploader": {"time_ms": NOW_MS - 900, "age_seconds": 0.9, "status": uploader_status()},
    }


def card() -> Json:
    """Return the report that root writes about the SD card (docs/formats/card.md)."""
    return {
        "written_ms": NOW_MS - 11_400_000,
        "booted": {"slot": "B", "version": "0.2.0", "store_format": 5},
        "other": {"slot": "A", "version": "0.1.0", "store_format": 5},
        "update": {
            "state": "kept",
            "slot": "B",
            "version": "0.2.0",
            "time_ms": NOW_MS - 86_400_000,
            "clock": "synchronised",
            "ends_rollback": False,
            "sentence": "Version 0.2.0 in slot B was healthy and is kept",
            "advice": "",
        },
        "note": "",
        "provisioning": {
            "taken": True,
            "lines": ["The gateway is called cabinet-7", "Wi-Fi: not used"],
        },
        "device": "mmcblk0",
    }


def session(client_id: str, **bent: object) -> Json:
    return {
        "client_id": client_id,
        "session": 5,
        "connected": True,
        "clean": False,
        "protocol": 4,
        "username": "bridge",
        "listener": "127.0.0.1:1883",
        "tls": False,
        "address": "127.0.0.1:53122",
        "last_seen_ms": NOW_MS - 3_000,
        "connected_since_ms": NOW_MS - 3_600_000,
        "keep_alive_seconds": 60,
        "subscription_count": 2,
        "inflight": 1,
        **dict.fromkeys(("awaiting_release", "queued_messages", "queued_bytes"), 0),
        "dropped_messages": 0,
        "received_messages": 18_423,
        "delivered_messages": 40,
        **bent,
    }


def session_detail(client_id: str) -> Json:
    return session(
        client_id,
        denials=0,
        subscriptions=[{"filter": "sensors/#", "qos": 2}, {"filter": "commands/+", "qos": 1}],
        inflight=[{"packet_id": 17, "message": 4_021, "qos": 2, "state": "awaiting_pubrec"}],
    )


def sessions() -> list[Json]:
    return [
        session("archive", queued_messages=12, queued_bytes=2_304, connected=False, address=None),
        session("dashboard", clean=True, protocol=5, delivered_messages=18_400),
        session("oncegate-bridge"),
        session("phone", dropped_messages=3, protocol=3),
    ]


def ban() -> Json:
    return {
        "kind": "address",
        "value": "192.0.2.7/32",
        "reason": "guesses passwords",
        "source": "operator",
        "since_ms": NOW_MS - 60_000,
        "until_ms": None,
    }
