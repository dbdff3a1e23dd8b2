"""The rules that must hold at the end of a run."""

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from gateway.broker.store import database
from tests.instruments.simulation.client import Client
from tests.instruments.simulation.groups import check_groups
from tests.instruments.simulation.ledger import MUST, NEVER, Message
from tests.instruments.simulation.plan import ClientPlan
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.world import World

AUDITOR = ClientPlan("auditor", clean=True, filters=(("#", 2),))
"""A client that connects last and subscribes to all retained messages."""

SETTLING_SECONDS = 2.0

FAREWELL = 0.3
"""The fraction of runs that continue until no session remains. This doubles a run's time."""


def check(world: "World") -> None:
    """Check all rules, and end the run.

    Raises:
        Violation: a rule does not hold.
    """
    end = world.moment
    auditor = world.add_client(AUDITOR)
    world.serve_until(auditor.is_finished, lambda: "the auditor is not answered")
    world.serve_for(SETTLING_SECONDS)
    # Dead connections may have been detected meanwhile, so that their wills are being sent.
    world.serve_until(world.everything_is_over, world.what_is_left)
    world.serve_until(lambda: _all_is_exported(world), lambda: "the log is not exported")
    _check_retained(world, auditor)
    for client in world.clients.values():
        for message in world.ledger.messages.values():
            _check_delivery(world, client, message, end)
    check_groups(world, end)
    _check_wills(world)
    world.log.check(world.clients, world.ledger)
    _leave(world, ends_sessions=False)
    while not world.everything_is_delivered():
        # A dead connection had a will, and clients that had already left return for it.
        _come_back(world, clean_start=False)
        world.serve_until(world.everything_is_over, world.what_is_left)
        _leave(world, ends_sessions=False)
    _stop(world)
    _check_tables(world, sessions_are_left=True)
    if world.chance.random() < FAREWELL:
        _check_farewell(world)


def _check_farewell(world: "World") -> None:
    """End the session of every client, and check that nothing of it remains."""
    world.machine.boot()
    _come_back(world, clean_start=True)
    _leave(world, ends_sessions=True)
    _stop(world)
    _check_tables(world, sessions_are_left=False)


def _check_delivery(world: "World", client: Client, message: Message, end: int) -> None:
    """Check that an acknowledged QoS 1 or 2 message has reached an entitled subscriber."""
    require(
        not (message.refused and message.key in client.sightings.seen),
        "what is refused reaches no subscriber",
        f"{message.key!r} was refused, and {client.name} received it",
    )
    last = message.acknowledged
    if message.is_will and message.will_goes_out == MUST:
        last = end
    if message.first_sent is None or last is None:
        return
    granted = client.subscriptions.sure_qos(message.topic, message.first_sent, last)
    if min(granted, message.qos) < 1 or message.key in client.sightings.seen:
        return
    why = world.log.dropped.get((client.name, message.key))
    # Messages that a session drops are not recorded if the session ends with its connection.
    unwritten = why is None and not client.connecting.is_persistent()
    is_slowed = world.queues_slow and (client.name, message.key) in world.log.dropped_here
    excused = (
        world.queues_overflow
        and not is_slowed
        and (why in ("queue_full", "displaced") or unwritten)
    )
    if world.durations.has_passed(message):
        unrouted = not (world.log.released[message.key] or world.log.published[message.key])
        expired = why == "expired" or world.durations.matched_no_client(message)
        excused = excused or unwritten or (message.temporary and unrouted)
        excused = excused or expired
    require(
        excused,
        "what is acknowledged reaches every entitled subscriber",
        f"{message.key!r} (QoS {message.qos}, {message.topic}) was acknowledged, {client.name} is "
        f"subscribed at QoS {granted} and never received it (dropped: {why})",
    )


def _check_wills(world: "World") -> None:
    for message in world.ledger.messages.values():
        if not message.is_will:
            continue
        count = world.log.published[message.key]
        require(
            count <= 1
            and (message.will_goes_out != MUST or count == 1)
            and (message.will_goes_out != NEVER or count == 0),
            "a will is published once, if it has to be",
            f"{message.key!r} was published {count} times; it {message.will_goes_out} go out",
        )


def _check_retained(world: "World", auditor: Client) -> None:
    """Check that the retained message of each topic is the last one, as far as it can be known."""
    by_topic: dict[str, list[Message]] = {}
    for message in world.ledger.messages.values():
        if message.retain and message.first_sent is not None:
            by_topic.setdefault(message.topic, []).append(message)
    for topic, written in by_topic.items():
        sure = [
            message
            for message in written
            if message.acknowledged is not None and not world.durations.has_passed(message)
        ]
        candidates = [message for message in written if not _is_superseded(message, sure)]
        may_expire = any(world.durations.has_passed(message) for message in candidates)
        found = [
            key
            for key in auditor.sightings.retained_copies
            if world.ledger.messages[key].topic == topic
        ]
        require(
            found in [[message.key] for message in candidates]
            or (not found and (not sure or may_expire)),
            "what is retained is what came last",
            f"{topic}: found {found}, expected one of {[each.key for each in candidates]}",
        )


def _is_superseded(message: Message, sure: list[Message]) -> bool:
    return message.acknowledged is not None and any(
        other.first_sent is not None and other.first_sent > message.acknowledged for other in sure
    )


def _check_tables(world: "World", *, sessions_are_left: bool) -> None:
    path = world.disk.data_dir / database.DATABASE_NAME
    empty = ["inbound", "outbound", "queue"]
    if not sessions_are_left:
        empty += ["sessions", "subscriptions", "wills"]
    with closing(sqlite3.connect(path)) as connection:

        def count(table: str) -> int:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

        rows = {table: count(table) for table in empty}
        require(
            not any(rows.values()) and count("messages") == count("retained"),
            "tables are empty in the end",
            f"rows: {rows}, messages {count('messages')}, retained {count('retained')}",
        )


def _all_is_exported(world: "World") -> bool:
    world.export_now()
    life = world.machine.life
    return (
        life is not None
        and not life.broker.batch.record_count
        and world.log.last_sequence + 1 == life.broker.batch.next_sequence
    )


def _leave(world: "World", *, ends_sessions: bool) -> None:
    """Send DISCONNECT from every client, so that no will is sent, and stop the broker."""

    def have_left() -> bool:
        for client in world.clients.values():
            if not client.connecting.goodbye_was_heard():
                _say_goodbye(client, ends_session=ends_sessions)
        return all(client.connecting.goodbye_was_heard() for client in world.clients.values())

    world.serve_until(have_left, lambda: "a goodbye is not heard")
    world.serve_for(SETTLING_SECONDS)
    life = world.machine.life
    assert life is not None
    kept = [session.client_id for session in life.broker.state.sessions.values()]
    require(
        not (ends_sessions and kept), "sessions end when they are ended", f"still there: {kept}"
    )


def _stop(world: "World") -> None:
    life = world.machine.life
    assert life is not None
    world.machine.stop(None)
    world.serve_until(lambda: world.machine.life is None, lambda: "the broker does not stop")
    require(
        not (world.disk.data_dir / database.RUNNING_NAME).exists(),
        "a stop without faults is clean",
        f"it ended with: {life.event_loop.committer.failure}",
    )


def _say_goodbye(client: Client, *, ends_session: bool) -> None:
    """Send DISCONNECT, and repeat it if the connection turned out to be dead."""
    connecting = client.connecting
    if connecting.connected:
        connecting.leave(1e9, sends_disconnect=True, ends_session=ends_session)
    elif connecting.attempt is None and connecting.attempts[-1].link.client_gone:
        connecting.away_until = 0.0
        connecting.open(clean_start=ends_session)


def _come_back(world: "World", *, clean_start: bool) -> None:
    for client in world.clients.values():
        client.connecting.away_until = 0.0
        client.connecting.open(clean_start=clean_start)
    world.serve_until(
        lambda: all(client.connecting.connected for client in world.clients.values()),
        lambda: "somebody is not let in",
    )
