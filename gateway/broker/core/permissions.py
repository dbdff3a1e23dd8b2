"""Permissions to connect, publish, subscribe and receive, and where each one is checked.

=========  ==========================================================================
connect    `admit._refusal_of_access`, once the client is authenticated; its will too;
           `revoke.enforce`, of those that are connected, when rules or users have changed
publish    `admission.refusal_of`, for each PUBLISH; `qos2_receive.receive_pubrel`, again
will       `publish.publish_will`, when a will goes out: rules may have changed meanwhile
subscribe  `subscribe._refusal_of`, for each filter; `TopicTree.regroup`, which group of a
           shared subscription a client is in: again when rules, user or listener are others
receive    `TopicTree.route_of`, when a route is made, so that a message costs nothing;
           `Permissions.refused_among` for shared subscriptions, `retained` for what is
           retained and `system_topics` for `$SYS`, when a client has subscribed;
           `deliver.pump`, of what was queued before rights changed
retained   `retained`, whether who published it may do so now
=========  ==========================================================================

All is allowed until `restrict` is called. Whether a client may receive a message is asked when the
message is published, and of what is in its queue again once rights have changed. A user that is
gone may do nothing, whatever the rules say, until a source of users proves it again; nor may a
session whose certificate was revoked.
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
"""Name of this refusal in the status's `errors`."""

# Not Final: tests make it small enough to be reached.
CLIENTS_MAX: int = 20_000
"""Clients with cached answers of the rules, at most; beyond it they are asked again."""

ANSWERS_BYTES_MAX: int = 16 * 1024 * 1024
"""Memory of the cached answers of all clients: enough for 80,000 topics; beyond it they are asked
again."""

ANSWER_BYTES: Final = 150
"""Memory of an answer in addition to its topic's text: its entry in a dictionary."""

REFUSED_SHIFT: Final = 6


class Client:
    """The properties of a client on which a decision may depend."""

    def __init__(
        self,
        client_id: str,
        username: str | None,
        listener: str,
        groups: frozenset[str] = NO_GROUPS,
    ) -> None:
        self.client_id = client_id
        """Empty at CONNECT if the broker chooses the identifier."""
        self.username = username
        """None: the client has no user, or users are not authenticated."""
        self.listener = listener
        """Listener of its connection; empty for a session that was not resumed since the start."""
        self.groups = groups
        """Groups from its user's proof; none for a session that was not resumed since the start."""
        self.found: object = None
        """Cache of the rules for this client; None at first."""
        self.answers: dict[str, int] = {}
        """Cached answers by topic: a bit for each QoS, with and without RETAIN, if publishing is
        allowed; from `REFUSED_SHIFT` on, if it is denied."""


@mypyc_attr(allow_interpreted_subclasses=True)
class AccessRules:
    """Access rules that allow everything. Subclasses override them.

    Answers change only with the rules.
    """

    def may_connect(self, client: Client) -> bool:
        """Return True if an authenticated client may connect."""
        return True

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        """Return True if a client may publish to a topic, by PUBLISH or as its will."""
        return True

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if a client may subscribe to a filter, including `$share/NAME/FILTER`."""
        return True

    def shares_group(self, client: Client, topic_filter: str, qos: int) -> bool:
        """Return True if a client's `$share/NAME/FILTER` shares its group with other users."""
        return True

    def may_receive(self, client: Client, topic: str) -> bool:
        """Return True if a client may receive messages of a topic to which it is subscribed."""
        return True


class Permissions:
    """Cached access checks for the rules of MQTT. Check `restricted` first, which costs nothing."""

    def __init__(self, authenticates: bool) -> None:
        """Start without rules. `authenticates`: user names are authenticated."""
        self.restricted = False
        """True if there are rules or removed users, so that an answer may be no."""
        self._authenticates = authenticates
        self.has_rules = False
        """True if there are rules. Without them everything is allowed."""
        self._rules = AccessRules()
        self.gone: frozenset[str] = frozenset()
        """Users to whom everything is denied."""
        self._has_revoked = False
        """True if any session has a revoked certificate."""
        self._clients: dict[Session, Client] = {}
        self._sources: dict[Source, Client] = {}
        """Publishers of retained messages."""
        self._answers_bytes = 0

    def authenticate(self, authenticates: bool) -> None:
        """Set whether user names are authenticated from now on."""
        self._authenticates = authenticates
        self._forget_all()

    def restrict(self, rules: AccessRules | None) -> None:
        """Use these rules from now on. None: everything is allowed."""
        self.has_rules = rules is not None
        self._rules = AccessRules() if rules is None else rules
        self._update()

    def forbid(self, gone: frozenset[str]) -> None:
        """Deny everything to these users from now on."""
        self.gone = gone
        self._update()

    def note_revoked(self, has_revoked: bool) -> None:
        """Set whether sessions must be checked for revoked certificates."""
        self._has_revoked = has_revoked
        self._update()

    def _update(self) -> None:
        self.restricted = self.has_rules or bool(self.gone) or self._has_revoked
        self._forget_all()

    def _forget_all(self) -> None:
        self._clients = {}
        self._sources = {}
        self._answers_bytes = 0

    def refuses_connect(self, connection: Connection, client_id: str) -> bool:
        """Return True if a client must not connect."""
        client = self._client_of_connection(connection, client_id)
        return client.username in self.gone or not self._rules.may_connect(client)

    def refuses_will(
        self, connection: Connection, client_id: str, topic: str, qos: int, retain: bool
    ) -> bool:
        """Return True if a connecting client must not publish its will."""
        client = self._client_of_connection(connection, client_id)
        return not self._rules.may_publish(client, topic, qos, retain)

    def refuses_publish(self, session: Session, topic: str, qos: int, retain: bool) -> bool:
        """Return True if a client must not publish to a topic. The answer is cached."""
        client = self._clients.get(session)
        if client is None:
            client = self._client_of(session)
        return self._refuses_publish(client, topic, qos, retain, self._is_gone(session, client))

    def refuses_source(self, source: Source, topic: str, qos: int) -> bool:
        """Return True if the publisher of a retained message may no longer publish it.

        The answer is cached for each publisher and topic.
        """
        client = self._sources.get(source)
        if client is None:
            if len(self._sources) >= CLIENTS_MAX:
                self._forget_all()
            username = source.username if self._authenticates else None
            client = Client(source.client_id, username, source.listener, source.groups)
            self._sources[source] = client
        return self._refuses_publish(client, topic, qos, True, client.username in self.gone)

    def _refuses_publish(
        self, client: Client, topic: str, qos: int, retain: bool, is_gone: bool
    ) -> bool:
        kind = 1 << (2 * qos + (1 if retain else 0))
        answers = client.answers.get(topic, 0)
        if answers & kind:
            return False
        if answers & kind << REFUSED_SHIFT:
            return True
        is_refused = is_gone or not self._rules.may_publish(client, topic, qos, retain)
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
        """Return True if a client must not subscribe to a filter."""
        return not self._rules.may_subscribe(self._client_of(session), topic_filter, qos)

    def refuses_receive(self, session: Session, topic: str) -> bool:
        """Return True if a client must not receive messages of a topic."""
        client = self._client_of(session)
        return self._is_gone(session, client) or not self._rules.may_receive(client, topic)

    def _is_gone(self, session: Session, client: Client) -> bool:
        return session.is_revoked or client.username in self.gone

    def scope_of(self, session: Session, subscription: Subscription) -> str:
        """Return the suffix that distinguishes a shared subscription's group from others of its
        name.

        Empty for the common group. Otherwise a slash and the user name, which is empty for clients
        without a user.
        """
        client = self._client_of(session)
        if self._rules.shares_group(client, subscription.topic_filter, subscription.qos):
            return ""
        return f"/{client.username or ''}"

    def refused_among(self, members: Iterable[Session], topic: str) -> set[Session]:
        """Return the members of a shared subscription that must not receive a message."""
        return {session for session in members if self.refuses_receive(session, topic)}

    def forget(self, session: Session) -> None:
        """Clear the cached answers of a session that ended, or has another user or listener."""
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
