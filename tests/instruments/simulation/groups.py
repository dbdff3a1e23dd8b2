"""Checks of shared subscriptions (5.0 section 4.8.2): each group gets a message exactly once.

When a member's session ends, queued messages and unacknowledged QoS 1 messages go to another
member. Such QoS 1 messages may then arrive twice. A QoS 2 message in flight stays with its member,
and is lost to the group when the member's session ends.
"""

from typing import TYPE_CHECKING

from tests.instruments.simulation.client import Client
from tests.instruments.simulation.ledger import MUST, Message
from tests.instruments.simulation.subscriptions import Subscribed
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.world import World

Source = tuple[str, str]
"""The subscription that a copy came through: ("client", name), or ("group", filter)."""

Members = dict[Client, list[Subscribed]]
"""Possible members of a group since a message was first sent, with their periods of membership."""


def check_groups(world: "World", end: int) -> None:
    """Check every message that a group may have received.

    Raises:
        Violation: a group received a message twice, or not at all.
    """
    for message in world.ledger.messages.values():
        if message.first_sent is None:
            continue
        groups: dict[str, Members] = {}
        for client in world.clients.values():
            for life in client.subscriptions.lives:
                if life.group and life.possibly_reaches(message.topic, message.first_sent, None):
                    groups.setdefault(life.topic_filter, {}).setdefault(client, []).append(life)
        if groups:
            _check_nothing_doubled(world, message, groups)
        for group, members in groups.items():
            _check_delivered(world, message, group, members, end)


def _check_nothing_doubled(world: "World", message: Message, groups: dict[str, Members]) -> None:
    """Check that each copy has a separate subscription that it could have come through."""
    at_qos_2, all_copies = list[list[Source]](), list[list[Source]]()
    routed_max = message.sent_count if message.qos < 2 and not message.is_will else 1
    room: dict[Source, int] = {}
    for group, members in groups.items():
        handed_over_max = sum(world.log.ended_counts[client.name] for client in members)
        room["group", group] = routed_max + handed_over_max
    for client in world.clients.values():
        room["client", client.name] = routed_max
        sources = _sources_of(client, message, groups)
        for sighting in client.sightings.seen.get(message.key, []):
            if sighting.qos == 2:
                at_qos_2.append(sources)
            if sighting.qos == 2 or not sighting.dup:
                all_copies.append(sources)
    require(
        all_fit(at_qos_2, dict.fromkeys(room, 1)) and all_fit(all_copies, room),
        "a group gets a message once",
        f"{message.key!r} (QoS {message.qos}, {message.topic}) came {len(at_qos_2)} times at QoS "
        f"2, {len(all_copies)} times in all, through {all_copies}; each once at QoS 2, and in all: "
        f"{room}",
    )


def _sources_of(client: Client, message: Message, groups: dict[str, Members]) -> list[Source]:
    sources = [("group", group) for group, members in groups.items() if client in members]
    last = None if message.is_will else message.acknowledged
    assert message.first_sent is not None
    if client.subscriptions.may_get_by_itself(message.topic, message.first_sent, last):
        sources.append(("client", client.name))
    return sources


def all_fit(copies: list[list[Source]], room: dict[Source, int]) -> bool:
    """Return True if all copies can be assigned to sources (matching by augmenting paths)."""
    dealt: dict[Source, list[int]] = {source: [] for source in room}

    def place(index: int, tried: set[Source]) -> bool:
        for source in copies[index]:
            if source in tried:
                continue
            tried.add(source)
            here = dealt[source]
            if len(here) < room[source]:
                here.append(index)
                return True
            for other in list(here):
                if place(other, tried):
                    here.remove(other)
                    here.append(index)
                    return True
        return False

    return all(place(index, set()) for index in range(len(copies)))


def _check_delivered(
    world: "World", message: Message, group: str, members: Members, end: int
) -> None:
    """Check that an acknowledged message reached the group, if one member stayed to the end."""
    is_over = message.acknowledged is not None
    if message.is_will:
        is_over = message.will_goes_out == MUST
    assert message.first_sent is not None
    stayed = [
        client.name
        for client in members
        if group in client.subscriptions.sure_groups(message.topic, message.first_sent, end)
    ]
    if not is_over or not message.qos or not stayed or _is_excused(world, message, members):
        return
    seen = sum(len(client.sightings.seen.get(message.key, [])) for client in members)
    last = end if message.acknowledged is None else message.acknowledged
    own = sum(
        message.key in client.sightings.seen
        and client.subscriptions.sure_qos(message.topic, message.first_sent, last) > 0
        for client in members
    )
    require(
        seen > own,
        "what is acknowledged reaches a member of every group",
        f"{message.key!r} (QoS {message.qos}, {message.topic}) was acknowledged, {stayed} was in "
        f"{group} all the time, and none of {[client.name for client in members]} received it",
    )


def _is_excused(world: "World", message: Message, members: Members) -> bool:
    """Return True if the chosen member may have kept or lost the message."""
    if world.durations.has_passed(message):
        return True
    for client, lives in members.items():
        mine = (client.name, message.key)
        if mine in world.log.left_behind or (world.queues_overflow and mine in world.log.dropped):
            return True
        for life in lives:
            # At QoS 0, only in memory, or no longer a member when its session ended.
            forgets = life.temporary and (not life.is_open() or world.queues_overflow)
            if not life.qos or forgets or client.subscriptions.ended_behind(life):
                return True
    return False
