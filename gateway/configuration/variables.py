"""Environment variables that begin with `ONCEGATE_` but are not configuration keys."""

import re

RESERVED = {
    "ONCEGATE_CONFIG": "the configuration file",
    "ONCEGATE_READY_FD": "`oncegate up` sets it for its processes",
    "ONCEGATE_SUPERVISOR_PID": "`oncegate up` sets it for its processes",
    "ONCEGATE_COMPILE": "whether `make wheel` and `oncegate up` compile the core",
    "ONCEGATE_COMPILE_LEVEL": "of `make wheel`",
    "ONCEGATE_MIRROR": "of `make image`",
    "ONCEGATE_IMAGE": "of `make image-test`",
    "ONCEGATE_IMAGE_CACHE": "of `make image`",
    "ONCEGATE_CHAIN_LOG": "of `make image-chain`",
    "ONCEGATE_CONTAINER_ARCH": "of `make container-test`",
}
RESERVED_PREFIX = "ONCEGATE_TEST_"
"""Prefix of variables used by the tests, such as ONCEGATE_TEST_SEED."""

_SERVICE = re.compile(r"ONCEGATE_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)", re.ASCII)
_LINK = re.compile(r"ONCEGATE_(\w+_)?PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?", re.ASCII)
_LINK_VALUE = re.compile(r"(tcp|udp|sctp)://.*", re.ASCII)


def is_reserved(name: str, value: str) -> bool:
    """Return True if a variable with the prefix `ONCEGATE_` is not a configuration key.

    In each container, Kubernetes sets variables for the Services in the same namespace. The
    variables for a Service called `oncegate` have this prefix.
    """
    if name in RESERVED or name.startswith(RESERVED_PREFIX) or _SERVICE.fullmatch(name):
        return True
    link = _LINK.fullmatch(name)
    # Only its value shows that ONCEGATE_MQTT_PORT is not a mistyped key.
    return link is not None and bool(link[2] or _LINK_VALUE.fullmatch(value))
