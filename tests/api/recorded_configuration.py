"""The configuration that a broker reports."""

from typing import Any

CONFIGURATION: dict[str, Any] = {
    "file": "/etc/oncegate/gateway.toml",
    "keys": [
        {
            "section": "[mqtt]",
            "key": "max_inflight",
            "value": "32",
            "source": None,
            "process": "broker",
        },
        {
            "section": "[[serial]] 1",
            "key": "name",
            "value": '"gps"',
            "source": "/etc/oncegate/conf.d/gps.toml",
            "process": "bridge",
        },
    ],
    "not_listed": 0,
    "needs_restart": ["gateway.id"],
}
