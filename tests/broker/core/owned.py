"""Clients of users on the harness, the users' quotas, and a recount of their counters."""

from collections import Counter

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.owners import cost_of, name_of
from gateway.broker.core.quota import ANONYMOUS, Quota, Quotas
from gateway.broker.core.state import State
from gateway.broker.wire.packets import Connect
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import NEVER, properties


class Fixed(Quotas):
    """Quotas by user name; other users have no limits."""

    def __init__(self, quotas: dict[str, Quota]) -> None:
        super().__init__()
        self.quotas = quotas

    def quota_of(self, username: str) -> Quota:
        return self.quotas.get(username) or super().quota_of(username)


def limit(harness: Harness, username: str, **limits: float) -> None:
    """Set the quota of a user; an empty name stands for all clients without a user."""
    quotas = harness.limits.quotas
    known = quotas.quotas if isinstance(quotas, Fixed) else {}
    quota = Quota("user_" if username else ANONYMOUS)
    for name, value in limits.items():
        assert hasattr(quota, name), name
        setattr(quota, name, value)
    harness.limits.quotas = Fixed(known | {username: quota})
    harness.broker.limits_changed(harness.now)


def log_in(
    harness: Harness,
    username: str,
    client_id: str,
    *,
    clean: bool = False,
    version: int = 5,
    listener: str = "",
) -> Client:
    """Connect a client of a user with the right password; an empty name connects without a user."""
    harness.broker.core.authenticates = True
    client = harness.open_connection(version)
    client.connection.listener = listener
    never = properties(session_expiry_interval_seconds=0 if clean else NEVER)
    name, password = (username, b"secret") if username else (None, None)
    client.send(
        Connect(version, client_id, clean, 0, None, name, password, never if version == 5 else None)
    )
    for request in harness.broker.effects.take_logins():
        answer = AuthenticationAnswer(0, None, request.username)
        harness.broker.authenticated(request.connection, answer, harness.now)
    harness.commit()
    return client


def check_owners(state: State) -> None:
    """Check each counter of each owner against a recount of the whole state."""
    counted: dict[str, Counter[str]] = {}
    for session in state.sessions.values():
        assert session.owner is not None
        of_owner = counted.setdefault(name_of(session), Counter())
        of_owner["sessions"] += 1
        of_owner["connections"] += session.connection is not None
        of_owner["subscriptions"] += len(session.subscriptions)
        of_owner["subscription_bytes"] += sum(map(cost_of, session.subscriptions))
        of_owner["queued_bytes"] += session.queued_bytes
        of_owner["held_bytes"] += session.inbound_bytes
        with_place = [each.message for each in session.inbound.values() if each.message.has_place]
        for message in with_place:
            _count_retained(counted, message.owner, message.retained_bytes())
    for message in state.retained.values():
        _count_retained(counted, message.owner, message.retained_bytes())
    owners = {owner.username: owner for owner in state.owners.all()}
    assert set(owners) == set(counted)
    for name, owner in owners.items():
        for key in (
            *("sessions", "connections", "subscriptions", "subscription_bytes"),
            *("queued_bytes", "held_bytes", "retained", "retained_bytes"),
        ):
            assert getattr(owner, key) == counted[name][key], (name, key)
        for session in owner.unused:
            assert session.owner is owner
            assert session.connection is None
            assert not session.ended
            assert session.is_unused()


def _count_retained(counted: dict[str, Counter[str]], owner: object, size_bytes: int) -> None:
    if owner is not None:
        of_owner = counted.setdefault(getattr(owner, "username", ""), Counter())
        of_owner["retained"] += 1
        of_owner["retained_bytes"] += size_bytes
