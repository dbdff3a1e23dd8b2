"""Who may connect, publish, subscribe and receive: a pure question each, asked in one place each.

=========  ==========================================================================
connect    `Admitting._refusal_of_access`, once the client is authenticated; its will too
publish    `Admission.refusal_of`, for each PUBLISH
will       `Publisher.publish_will`, when a will goes out: rules may have changed meanwhile
subscribe  `Subscribing._refusal_of`, for each filter
receive    `TopicTree.route_of`, when a route is made, so that a message costs nothing;
           `Permissions.refused_among` for shared subscriptions, `RetainedReplay` for what is
           retained and `SystemMessages` for `$SYS`, when a client has subscribed
=========  ==========================================================================

All is allowed until `restrict` is called. What a client has in its queue it gets: whether it may
receive a message is asked when the message is published.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import mypyc_attr

from gateway.core.sessions.connection import Connection
from gateway.core.sessions.session import Session

CONNECT_REFUSED: Final = "not_authorized"
WILL_REFUSED: Final = "will_not_authorized"
PUBLISH_REFUSED: Final = "publish_not_authorized"
SUBSCRIBE_REFUSED: Final = "subscribe_not_authorized"
RECEIVE_REFUSED: Final = "receive_not_authorized"
"""How refusals are counted in the status's `errors`."""


class Client:
    """What an answer may depend on."""

    def __init__(self, client_id: str, username: str | None, listener: str) -> None:
        self.client_id = client_id
        """Empty at CONNECT where the broker is to choose one."""
        self.username = username
        """None: the client named no user, or there are no passwords to prove one."""
        self.listener = listener
        """Where its connection came in; empty for a session that was not resumed since a start."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AccessRules:
    """Allows everything; subclasses answer otherwise. Answers change with other rules only."""

    def may_connect(self, client: Client) -> bool:
        """Return whether an authenticated client is let in."""
        return True

    def may_publish(self, client: Client, topic: str) -> bool:
        """Return whether a client may publish to a topic, as a PUBLISH or as its will."""
        return True

    def may_subscribe(self, client: Client, topic_filter: str) -> bool:
        """Return whether a client may subscribe; `$share/<name>/` is not part of the filter."""
        return True

    def may_receive(self, client: Client, topic: str) -> bool:
        """Return whether a client may receive messages of a topic that it has subscribed to."""
        return True


class Permissions:
    """The questions, as the rules of MQTT ask them: `restricted` first, which costs nothing."""

    def __init__(self, authenticates: bool) -> None:
        """Begin without rules. `authenticates`: there are passwords: user names are proven."""
        self.restricted = False
        """There are rules: an answer may be no."""
        self._authenticates = authenticates
        self._rules = AccessRules()

    def restrict(self, rules: AccessRules | None) -> None:
        """Answer by these rules from now on; None: everything is allowed."""
        self.restricted = rules is not None
        self._rules = AccessRules() if rules is None else rules

    def refuses_connect(self, connection: Connection, client_id: str) -> bool:
        """Return whether a client must not be let in."""
        return not self._rules.may_connect(self._client_of_connection(connection, client_id))

    def refuses_will(self, connection: Connection, client_id: str, topic: str) -> bool:
        """Return whether a client that connects must not publish its will."""
        client = self._client_of_connection(connection, client_id)
        return not self._rules.may_publish(client, topic)

    def refuses_publish(self, session: Session, topic: str) -> bool:
        """Return whether a client must not publish to a topic."""
        return not self._rules.may_publish(self._client_of(session), topic)

    def refuses_subscribe(self, session: Session, topic_filter: str) -> bool:
        """Return whether a client must not subscribe to a filter."""
        return not self._rules.may_subscribe(self._client_of(session), topic_filter)

    def refuses_receive(self, session: Session, topic: str) -> bool:
        """Return whether a client must not receive messages of a topic."""
        return not self._rules.may_receive(self._client_of(session), topic)

    def refused_among(self, members: Iterable[Session], topic: str) -> set[Session]:
        """Return the members of a shared subscription that must not receive a message."""
        return {session for session in members if self.refuses_receive(session, topic)}

    def _client_of(self, session: Session) -> Client:
        username = session.username if self._authenticates else None
        return Client(session.client_id, username, session.listener)

    def _client_of_connection(self, connection: Connection, client_id: str) -> Client:
        username = connection.username if self._authenticates else None
        return Client(client_id, username, connection.listener)
