"""Keys of mosquitto.conf, with the keys that have the same meaning in a configuration file.

Spelling is no guide between the two: Mosquitto's `max_queued_messages` is closest to
`max_queue_memory`, but means `max_mqueue_len`.
"""

from collections.abc import Mapping
from typing import Final

_DATA = "everything is stored in the folder of data_dir in [gateway]"
_LISTENER_TLS = "in [listeners.tls]"
_UPLINK = "in [uplink]"
_UPLINK_TLS = "in [uplink.tls]"

MEANINGS: Final[Mapping[str, str]] = {
    "acl_file": "rules_file in [access], for which `oncegate acl import` converts the file",
    "allow_anonymous": "anonymous in [[listeners]]",
    "autosave_interval": f"not needed: {_DATA}",
    "bind_address": "bind in [[listeners]]",
    "bridge_cafile": f"ca {_UPLINK_TLS}",
    "bridge_certfile": f"certificate {_UPLINK_TLS}",
    "bridge_keyfile": f"key {_UPLINK_TLS}",
    "bridge_protocol_version": f"protocol {_UPLINK}",
    "cafile": f"ca {_LISTENER_TLS}",
    "certfile": f"certificate {_LISTENER_TLS}",
    "connection": f"address {_UPLINK}",
    "crlfile": f"crl {_LISTENER_TLS}",
    "keyfile": f"key {_LISTENER_TLS}",
    "listener": "port and bind in [[listeners]]",
    "max_inflight_messages": "max_inflight in [mqtt]",
    "max_keepalive": "max_keep_alive in [mqtt]",
    "max_qos": "maximum_qos in [mqtt]",
    "max_queued_bytes": "max_mqueue_bytes in [mqtt]",
    "max_queued_messages": "max_mqueue_len in [mqtt]",
    "persistence": f"not needed: {_DATA}",
    "persistence_file": f"not needed: {_DATA}",
    "persistence_location": "data_dir in [gateway]",
    "persistent_client_expiration": "max_session_expiry in [mqtt]",
    "queue_qos0_messages": "mqueue_store_qos0 in [mqtt]",
    "remote_clientid": f"client_id {_UPLINK}",
    "remote_password": f"password_file {_UPLINK}, a file that contains the password",
    "remote_username": f"username {_UPLINK}",
    "require_certificate": f'client_certificates = "required" {_LISTENER_TLS}',
    "tls_version": f"min_version {_LISTENER_TLS}",
    "use_identity_as_username": f'username = "common_name" {_LISTENER_TLS}',
}
"""For each key of Mosquitto, the key that is meant and its section."""


def meaning_of(key: str) -> str | None:
    """Return a phrase that names the key with the meaning of a key of Mosquitto, or None."""
    meaning = MEANINGS.get(key)
    return None if meaning is None else f"Mosquitto's {key} is {meaning}"
