"""Mutants with mistakes in full queues."""

from gateway.broker.core.core import Core
from gateway.broker.core.rules import full_queues
from gateway.broker.core.rules.deliver import backpressure, enqueue
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.when_full import WhenFull
from tests.instruments.simulation.mutant import one

SLOWING = "publishers faster than a subscriber that reads"
REFUSING = "publishers faster than a queue that refuses"


def _always_has_room(_: object) -> object:
    def has_place(_: Core, session: Session, size_bytes: int) -> bool:
        session.when_full = WhenFull.DROP_NEWEST
        return True

    return has_place


def _never_reads(_: object) -> object:
    def reads(*_: object) -> bool:
        return False

    return reads


def _displaces_without_a_record(_: object) -> object:
    def displace(core: Core, session: Session) -> bool:
        front = session.front()
        if front is not None:
            core.state.delivery_skipped(front)
        return front is not None

    return displace


MUTANTS_OF_QUEUES = (
    one(
        "a queue that refuses has room",
        full_queues,
        "_has_place",
        _always_has_room,
        scenario=REFUSING,
    ),
    one(
        "a client that reads slows no publisher",
        backpressure,
        "_reads",
        _never_reads,
        scenario=SLOWING,
    ),
    one("the oldest goes unrecorded", enqueue, "_displace", _displaces_without_a_record),
)
