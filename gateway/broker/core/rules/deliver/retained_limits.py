"""Limits on retained messages, in total and for each user."""

from gateway.broker.core.limits import Limits
from gateway.broker.core.sessions.message import retained_bytes_of
from gateway.broker.core.sessions.owner import Owner
from gateway.broker.core.state import State


def retained_limit_reached(
    state: State, limits: Limits, owner: Owner | None, topic: str, size_bytes: int
) -> str:
    """Return the name of the limit that another retained message would exceed, or "".

    The totals include held QoS 2 messages that will be retained after their PUBREL.

    Args:
        state: the state with all retained messages.
        limits: the configured limits.
        owner: the counters of the message's owner. With None, only the total limits apply.
        topic: the topic of the message.
        size_bytes: the size of the message, as counted by `Message.size_bytes`.
    """
    before = state.retained.get(topic)
    added_bytes = retained_bytes_of(topic, size_bytes)
    if owner is not None:
        own_before = before if before is not None and before.owner is owner else None
        if own_before is None:
            if owner.retained >= owner.quota.retained:
                return owner.name_of("retained")
            own_bytes = added_bytes
        else:
            own_bytes = added_bytes - own_before.retained_bytes()
        if own_bytes > 0 and owner.retained_bytes + own_bytes > owner.quota.retained_bytes:
            return owner.name_of("retained_bytes")
    if before is None:
        if len(state.retained) + state.retained_totals.places >= limits.max_retained:
            return "max_retained"
        added_bytes += state.tree.topics.missing(topic).size_bytes
    else:
        added_bytes -= before.retained_bytes()
        if added_bytes <= 0:
            return ""  # even if more is stored than the limits, which may have been lowered, allow
    total_bytes = state.retained_memory_bytes() + state.retained_totals.places_bytes + added_bytes
    return "max_retained_bytes" if total_bytes > limits.max_retained_bytes else ""
