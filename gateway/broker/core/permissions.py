"""Permissions to connect, publish, subscribe and receive, and where each permission is checked.

=========  ==========================================================================
connect    `admit._refusal_of_access`, when a client has been authenticated;
           `revoke.enforce`, for connected clients, when rules or users change
publish    `admission.refusal_of`, for each PUBLISH; `qos2_receive.receive_pubrel`, for each PUBREL
will       `admit._refusal_of_access`, when the client connects;
           `publish.publish_will`, when the will is published, since rules may have changed
subscribe  `subscribe._refusal_of`, for each filter; `TopicTree.regroup` selects the group of a
           shared subscription again when rules, user or listener change
receive    `TopicTree.route_of`, when a route is created, so that messages need no check;
           `Permissions.refused_among` for shared subscriptions; when a client subscribes,
           `retained` for retained messages and `system_topics` for `$SYS`; `deliver.pump`, for
           messages that were queued before permissions changed
retained   `retained`, which checks that the publisher may still publish the message
=========  ==========================================================================

Without access rules, everything is allowed. When a message is published, the rules determine which
clients receive it. Messages that are already queued are checked again after permissions change.
Everything is denied to a removed user, even if the rules allow it, until the user has been
authenticated again. Everything is also denied to a stored session after its client's certificate
has been revoked.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import mypyc_attr

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import NO_GROUPS, Session
from gateway.broker.core.sessions.source import Source
from gateway.broker.core.sessions.subscription import Subscription

CONNECT_REFUSED: Final = "not_authorized"
WILL_REFUSED: Final = "will_not_authorized"
PUBLISH_REFUSED: Final = "publish_not_authorized"
SUBSCRIBE_REFUSED: Final = "subscribe_not_authorized"
RECEIVE_REFUSED: Final = "receive_not_authorized"
SOURCE_REFUSED: Final = "retained_source_not_authorized"
"""Name of the counter of retained messages that are withheld because their publisher lost the right
to publish them, in `errors` of the status."""

# Not Final, so that tests can use a smaller value.
CLIENTS_MAX: int = 20_000
"""Maximum clients with cached results of the access rules. Beyond this, the cache is cleared."""

ANSWERS_BYTES_MAX: int = 16 * 1024 * 1024
"""Maximum memory in bytes of the cached results for all clients: enough for 80,000 topics. Beyond
this, the cache is cleared."""

ANSWER_BYTES: Final = 150
"""Memory of a cached result in addition to its topic, in bytes: its entry in a dictionary."""

REFUSED_SHIFT: Final = 6


class Client:
    """Properties of a client on which access rules may depend."""

    def __init__(
        self,
        client_id: str,
        username: str | None,
        listener: str,
        groups: frozenset[str] = NO_GROUPS,
    ) -> None:
        self.client_id = client_id
        """Empty while the client connects, if the broker chooses the identifier."""
        self.username = username
        """None if the client has no user, or if users are not authenticated."""
        self.listener = listener
        """The client's listener, or empty if the session was not resumed since the broker's
        start."""
        self.groups = groups
        """Groups from the login, or empty if the session was not resumed since the broker's
        start."""
        self.found: object = None
        """Cache that the rules use for this client, None at first."""
        self.answers: dict[str, int] = {}
        """Cached results by topic. Bits from 0 on mean that publishing is allowed. Bits from
        `REFUSED_SHIFT` on mean that it is denied. Each QoS has a bit without and with RETAIN."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AccessRules:
    """Base class of access rules. This class itself allows everything.

    The methods return the same results until the rules are replaced, so callers may cache them.
    """

    def may_connect(self, client: Client) -> bool:
        """Return True if an authenticated client may connect."""
        return True

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        """Return True if a client may publish to a topic, with PUBLISH or through its will."""
        return True

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if a client may subscribe to a filter, including `$share/NAME/FILTER`."""
        return True

    def shares_group(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if a client may join other users in the group of a shared subscription."""
        return True

    def may_receive(self, client: Client, topic: str) -> bool:
        """Return True if a client with a matching subscription may receive messages on a topic."""
        return True


class Permissions:
    """Permission checks for connecting, publishing, subscribing and receiving.

    If `restricted` is False, everything is allowed, and callers can skip the checks.
    """

    def __init__(self, authenticates: bool) -> None:
        """Start without access rules, so everything is allowed.

        `authenticates` is True if user names are authenticated.
        """
        self.restricted = False
        """True if there are access rules, removed users or revoked certificates."""
        self._authenticates = authenticates
        self.has_rules = False
        """True if there are access rules. Without rules everything is allowed."""
        self._rules = AccessRules()
        self.removed_users: frozenset[str] = frozenset()
        """Removed users, to whom everything is denied."""
        self._has_revoked = False
        """True if any session has a revoked certificate."""
        self._clients: dict[Session, Client] = {}
        self._sources: dict[Source, Client] = {}
        """Publishers of retained messages."""
        self._answers_bytes = 0

    def authenticate(self, authenticates: bool) -> None:
        """Set whether user names are authenticated. If they are not, access rules ignore them."""
        self._authenticates = authenticates
        self._forget_all()

    def restrict(self, rules: AccessRules | None) -> None:
        """Replace the access rules. If `rules` is None, everything is allowed."""
        self.has_rules = rules is not None
        self._rules = AccessRules() if rules is None else rules
        self._update()

    def forbid(self, removed_users: frozenset[str]) -> None:
        """Replace the set of removed users, to whom everything is denied."""
        self.removed_users = removed_users
        self._update()

    def note_revoked(self, has_revoked: bool) -> None:
        """Record whether any session has a revoked certificate.

        As long as there is such a session, `restricted` is True, so callers do not skip the access
        checks.
        """
        self._has_revoked = has_revoked
        self._update()

    def _update(self) -> None:
        self.restricted = self.has_rules or bool(self.removed_users) or self._has_revoked
        self._forget_all()

    def _forget_all(self) -> None:
        self._clients = {}
        self._sources = {}
        self._answers_bytes = 0

    def refuses_connect(self, connection: Connection, client_id: str) -> bool:
        """Return True if a client is not allowed to connect."""
        client = self._client_of_connection(connection, client_id)
        return client.username in self.removed_users or not self._rules.may_connect(client)

    def refuses_will(
        self, connection: Connection, client_id: str, topic: str, qos: int, retain: bool
    ) -> bool:
        """Return True if a connecting client is not allowed to publish its will."""
        client = self._client_of_connection(connection, client_id)
        return not self._rules.may_publish(client, topic, qos, retain)

    def refuses_publish(self, session: Session, topic: str, qos: int, retain: bool) -> bool:
        """Return True if a client is not allowed to publish to a topic. The result is cached."""
        client = self._clients.get(session)
        if client is None:
            client = self._client_of(session)
        return self._refuses_publish(client, topic, qos, retain, self._is_removed(session, client))

    def refuses_source(self, source: Source, topic: str, qos: int) -> bool:
        """Return True if the publisher of a retained message is no longer allowed to publish it.

        The result is cached for each publisher and topic.
        """
        client = self._sources.get(source)
        if client is None:
            if len(self._sources) >= CLIENTS_MAX:
                self._forget_all()
            username = source.username if self._authenticates else None
            client = Client(source.client_id, username, source.listener, source.groups)
            self._sources[source] = client
        return self._refuses_publish(
            client, topic, qos, True, client.username in self.removed_users
        )

    def _refuses_publish(
        self, client: Client, topic: str, qos: int, retain: bool, is_removed: bool
    ) -> bool:
        kind = 1 << (2 * qos + (1 if retain else 0))
        answers = client.answers.get(topic, 0)
        if answers & kind:
            return False
        if answers & kind << REFUSED_SHIFT:
            return True
        is_refused = is_removed or not self._rules.may_publish(client, topic, qos, retain)
        self._keep(client, topic, answers, kind << REFUSED_SHIFT if is_refused else kind)
        return is_refused

    def _keep(self, client: Client, topic: str, answers: int, answer: int) -> None:
        if not answers:
            self._answers_bytes += ANSWER_BYTES + text_bytes_of(topic)
            if self._answers_bytes > ANSWERS_BYTES_MAX:
                self._forget_all()
                return
        client.answers[topic] = answers | answer

    def refuses_subscribe(self, session: Session, topic_filter: str, qos: int) -> bool:
        """Return True if a client is not allowed to subscribe to a filter."""
        return not self._rules.may_subscribe(self._client_of(session), topic_filter, qos)

    def refuses_receive(self, session: Session, topic: str) -> bool:
        """Return True if a client is not allowed to receive messages on a topic."""
        client = self._client_of(session)
        return self._is_removed(session, client) or not self._rules.may_receive(client, topic)

    def _is_removed(self, session: Session, client: Client) -> bool:
        return session.is_revoked or client.username in self.removed_users

    def scope_of(self, session: Session, subscription: Subscription) -> str:
        """Return a suffix for the group name of a shared subscription, to separate users' groups.

        The suffix is empty if all users share the group. Otherwise it is a slash and the user name,
        or only a slash for clients without a user.
        """
        client = self._client_of(session)
        if self._rules.shares_group(client, subscription.topic_filter, subscription.qos):
            return ""
        return f"/{client.username or ''}"

    def refused_among(self, members: Iterable[Session], topic: str) -> set[Session]:
        """Return the members of a shared subscription that may not receive messages on a topic."""
        return {session for session in members if self.refuses_receive(session, topic)}

    def forget(self, session: Session) -> None:
        """Clear the cached results of a session that ended, or changed its user or listener."""
        self._clients.pop(session, None)

    def _client_of(self, session: Session) -> Client:
        client = self._clients.get(session)
        if client is None:
            if len(self._clients) >= CLIENTS_MAX:
                self._forget_all()
            username = session.username if self._authenticates else None
            client = Client(session.client_id, username, session.listener, session.groups)
            self._clients[session] = client
        return client

    def _client_of_connection(self, connection: Connection, client_id: str) -> Client:
        username = connection.username if self._authenticates else None
        return Client(client_id, username, connection.listener, connection.groups)
