"""Warnings about an action that would disconnect the bridge or the uplink.

Without the bridge, no readings arrive. Without the uplink, no messages reach the upstream broker.
The page shows the warnings before an operator confirms the ban or the disconnection.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from api.models.sessions import SessionDetail
from api.status.control_socket import BrokerProblem
from api.status.observer import Observer, Overview
from gateway.process.control.messages import Refused
from gateway.process.control.own_clients import STOPPED_BY_BAN, is_in_network

_KICK_CONSEQUENCES: Final[Mapping[str, str]] = {
    "bridge": "This is the gateway's own bridge. It connects again by itself; readings wait in its "
    "outbox until then.",
    "uplink": "This is the gateway's own uplink. It connects again by itself; messages wait in its "
    "queue until then.",
}


async def consequences_of(
    observer: Observer, command: str, fields: Mapping[str, str]
) -> tuple[str, ...]:
    """Return one warning for each of the gateway's own clients that an action would disconnect.

    The gateway's own clients are the bridge and the uplink.

    Args:
        observer: queries the broker.
        command: `ban` or `kick`. For any other command, the result is empty.
        fields: the values in the form: `client_id` for `kick`, or `kind` and `value` for `ban`.
    """
    sentences = {"ban": STOPPED_BY_BAN, "kick": _KICK_CONSEQUENCES}.get(command)
    if sentences is None:
        return ()
    try:
        own = _own_clients_in(await observer.overview())
    except BrokerProblem:
        return ()  # the action will fail for the same reason, and the page shows it
    return tuple(
        [
            sentences[name]
            for name, client_id in own
            if await _would_disconnect(observer, client_id, command, fields)
        ]
    )


def _own_clients_in(overview: Overview) -> Iterator[tuple[str, str]]:
    """Yield `bridge` and `uplink`, each with its client identifier.

    The identifiers come from the reports of the bridge and the uplink. A client without an
    identifier in its report is omitted.
    """
    bridge, uplink = overview.serial.status, overview.uplink.status
    if bridge is not None and bridge.mqtt.session is not None:
        yield "bridge", bridge.mqtt.session
    if uplink is not None and uplink.local.session is not None:
        yield "uplink", uplink.local.session


async def _would_disconnect(
    observer: Observer, client_id: str, command: str, fields: Mapping[str, str]
) -> bool:
    """Return True if a ban or kick would disconnect the client with the identifier `client_id`.

    `command` is `ban` or `kick`, and `fields` are the values in the form.
    """
    if command == "kick":
        return fields.get("client_id") == client_id
    kind, value = fields.get("kind"), fields.get("value", "")
    if kind == "client":
        return value == client_id
    try:
        session = await observer.session(client_id)
    except (BrokerProblem, Refused):
        return False  # the client has no session now
    if kind == "user":
        return session.username is not None and value == session.username
    return kind == "address" and _is_in(value, session)


def _is_in(network: str, session: SessionDetail) -> bool:
    """Return True if the client of a session connected from an address in `network`.

    `network` is an IP network or a single address.
    """
    host = (session.address or "").rpartition(":")[0].strip("[]")
    return is_in_network(host, network)
