"""Authentication of clients by password or by enhanced authentication (MQTT 5.0 section 4.12).

The core sends requests to the authenticator, which is outside the core. Depending on its answer,
the client is accepted, rejected or asked for more data.
"""

from typing import Final

from gateway.broker.core.core import Core
from gateway.broker.core.effects import AuthenticationAnswer, AuthenticationRequest
from gateway.broker.core.login_rates import LOGIN_RATE
from gateway.broker.core.rules.connect import admit, refuse
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.timers import Timer, TimerKind
from gateway.broker.core.violation import Violation, protocol_violation, too_large
from gateway.broker.wire.codes import (
    BAD_AUTHENTICATION_METHOD,
    BAD_USER_NAME_OR_PASSWORD,
    CONNECTION_RATE_EXCEEDED,
    CONTINUE_AUTHENTICATION,
    FIRST_ERROR,
    NOT_AUTHORIZED,
    REAUTHENTICATE,
    SERVER_BUSY,
    SERVER_UNAVAILABLE,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Auth, Connect, Properties

REFUSAL_REASONS: Final = {
    BAD_USER_NAME_OR_PASSWORD: "bad_user_name_or_password",
    SERVER_BUSY: "server_busy",
    SERVER_UNAVAILABLE: "users_unavailable",
}
"""Names in statistics for the authenticator's refusals. Others are named `not_authorized`."""


def check_password(
    core: Core, connection: Connection, packet: Connect, username: str, now: float
) -> None:
    """Request a check of the password in a CONNECT.

    If the login rate of the user or of the listener is exceeded, refuse the client without a check.
    """
    limit = core.login_rates.limit_exceeded_by_login(username, now)
    share = connection.share
    if not limit and share is not None and not share.has_login_left(now):
        limit = share.name_of(LOGIN_RATE)
    if limit:
        # Before the check, which takes tens of milliseconds of CPU.
        refuse.refuse(core, connection, CONNECTION_RATE_EXCEEDED, limit)
        return
    connection.state = ConnectionState.AUTHENTICATING
    connection.connect = packet
    password = packet.password or b""
    core.effects.logins.append(
        AuthenticationRequest(connection, username, password, None, b"", True)
    )


def begin_enhanced(
    core: Core, connection: Connection, packet: Connect, properties: Properties | None
) -> None:
    """Begin enhanced authentication with the method named in a CONNECT."""
    if connection.authentication_method not in core.methods:
        # [MQTT5-4.12.0-1]
        refuse.refuse(core, connection, BAD_AUTHENTICATION_METHOD, "bad_authentication_method")
        return
    connection.connect = packet
    data = None if properties is None else properties.authentication_data
    _ask(core, connection, data or b"", True)


def _ask(core: Core, connection: Connection, data: bytes, is_first: bool) -> None:
    if connection.state is not ConnectionState.CONNECTED:
        connection.state = ConnectionState.AUTHENTICATING
    connection.checking = True
    core.effects.logins.append(
        AuthenticationRequest(connection, "", b"", connection.authentication_method, data, is_first)
    )


def receive_auth(core: Core, connection: Connection, packet: Auth) -> Violation | None:
    """Process AUTH: continue the current authentication, or begin re-authentication."""
    properties = packet.properties
    method = None if properties is None else properties.authentication_method
    if connection.authentication_method is None or method != connection.authentication_method:
        # [MQTT5-4.12.0-5], [MQTT5-4.12.0-6]
        return protocol_violation(
            f"AUTH with method {method!r}, expected {connection.authentication_method!r}"
        )
    is_first = packet.reason_code == REAUTHENTICATE
    if connection.checking or is_first != (
        connection.state is ConnectionState.CONNECTED and not connection.reauthenticating
    ):
        return protocol_violation(f"AUTH with reason code {packet.reason_code} out of turn")
    if is_first:
        connection.reauthenticating = True
    data = None if properties is None else properties.authentication_data
    _ask(core, connection, data or b"", is_first)
    return None


def authenticated(
    core: Core, connection: Connection, answer: AuthenticationAnswer, now: float
) -> Violation | None:
    """Process the authenticator's answer to an `AuthenticationRequest`.

    If the broker is waiting for the client's next AUTH, only a refusal is processed. Return the
    violation for which the connection must be closed, or None.
    """
    connection.checking = False
    if connection.state is ConnectionState.CONNECTED:
        return _reauthenticated(core, connection, answer, now)
    packet = connection.connect
    if packet is None or not (
        connection.state is ConnectionState.AUTHENTICATING
        or (connection.state is ConnectionState.AWAITING_AUTH and answer.reason_code >= FIRST_ERROR)
    ):
        return None
    if answer.reason_code == CONTINUE_AUTHENTICATION:
        connection.state = ConnectionState.AWAITING_AUTH
        return _send_auth(core, connection, CONTINUE_AUTHENTICATION, answer.data)
    if answer.reason_code:
        reason = REFUSAL_REASONS.get(answer.reason_code, "not_authorized")
        refuse.refuse(core, connection, answer.reason_code, reason, answer.detail)
        return None
    if connection.proven_user not in (None, answer.username):
        detail = f"user {answer.username!r} with the certificate of {connection.proven_user!r}"
        refuse.refuse(core, connection, NOT_AUTHORIZED, "not_authorized", detail)
        return None
    connection.connect = None
    connection.username = answer.username
    connection.groups = answer.groups
    violation = admit.admit(core, connection, packet, answer.data, now)
    if connection.session is not None:
        _watch_lifetime(core, connection, answer, now)
    return violation


def _watch_lifetime(
    core: Core, connection: Connection, answer: AuthenticationAnswer, now: float
) -> None:
    """Schedule the connection to be closed when the client's credentials expire."""
    if answer.lifetime_seconds is not None:
        due = now + answer.lifetime_seconds
        core.timers.add(due, Timer(TimerKind.CREDENTIALS, connection, None))


def _reauthenticated(
    core: Core, connection: Connection, answer: AuthenticationAnswer, now: float
) -> Violation | None:
    if answer.reason_code == CONTINUE_AUTHENTICATION:
        return _send_auth(core, connection, CONTINUE_AUTHENTICATION, answer.data)
    connection.reauthenticating = False
    if answer.reason_code:
        # [MQTT5-4.12.1-2]; DISCONNECT has neither 0x86 nor 0x88 (5.0 table 3-10)
        may_try_again = answer.reason_code in (SERVER_BUSY, SERVER_UNAVAILABLE)
        code = SERVER_BUSY if may_try_again else NOT_AUTHORIZED
        reason = REFUSAL_REASONS.get(answer.reason_code, "not_authorized")
        return Violation(reason, code, answer.detail or "re-authentication failed")
    if answer.username != connection.username:
        return Violation("not_authorized", NOT_AUTHORIZED, "re-authentication as another user")
    session = connection.session
    if session is not None and answer.groups != session.groups:
        connection.groups = session.groups = answer.groups
        core.permissions.forget(session)
        core.state.tree.forget_all_routes()
        session.recheck_before = session.next_position
    _watch_lifetime(core, connection, answer, now)
    return _send_auth(core, connection, 0, answer.data)


def _send_auth(
    core: Core, connection: Connection, reason_code: int, data: bytes | None
) -> Violation | None:
    properties = Properties()
    properties.authentication_method = connection.authentication_method
    properties.authentication_data = data
    auth = encode(Auth(reason_code, properties), 5)
    if not connection.accepts(auth):
        return too_large("AUTH", len(auth), connection.maximum_packet_size_bytes)
    if connection.state is ConnectionState.CONNECTED:
        core.output.send_immediately(connection, auth)
    else:
        core.output.push(connection, auth)
    return None
