"""The values of the topics below `$SYS/broker`, with the names that Mosquitto uses.

Topics that Mosquitto lacks begin with `packets/` and count packets by type. See
docs/system-topics.md for the list.
"""

from typing import Final

from gateway.broker.core.broker import Broker
from gateway.broker.server.status.totals import Totals
from gateway.broker.wire import kinds

ROOT: Final = "$SYS/broker/"

RECEIVED_KINDS: Final = (
    kinds.CONNECT,
    kinds.PUBACK,
    kinds.PUBREC,
    kinds.PUBREL,
    kinds.PUBCOMP,
    kinds.SUBSCRIBE,
    kinds.UNSUBSCRIBE,
    kinds.PINGREQ,
    kinds.DISCONNECT,
    kinds.AUTH,
)
SENT_KINDS: Final = (
    kinds.CONNACK,
    kinds.PUBACK,
    kinds.PUBREC,
    kinds.PUBREL,
    kinds.PUBCOMP,
    kinds.SUBACK,
    kinds.UNSUBACK,
    kinds.PINGRESP,
    kinds.DISCONNECT,
    kinds.AUTH,
)


def counts_of(broker: Broker) -> dict[str, int]:
    """Return a dictionary of the counters from which load averages are calculated."""
    statistics = broker.statistics
    others_sent = sum(broker.statistics.packets_sent[kind] for kind in SENT_KINDS)
    return {
        "messages/received": statistics.packets_received_total,
        "messages/sent": others_sent + statistics.publishes_sent_total(),
        "publish/received": statistics.publishes_received_total(),
        "publish/sent": statistics.publishes_sent_total(),
        "publish/dropped": sum(statistics.dropped.values()),
        "bytes/received": statistics.bytes_received,
        "bytes/sent": statistics.bytes_sent,
        "connections": statistics.packets_received[kinds.CONNECT],
        "sockets": statistics.connections_accepted,
    }


def values_of(
    broker: Broker,
    version: str,
    uptime_seconds: float,
    totals: Totals,
    averages: dict[str, float],
) -> dict[str, bytes]:
    """Return the payload of every topic below `$SYS`."""
    counts = counts_of(broker)
    numbers = {
        **_clients_of(broker),
        **_messages_of(broker, counts, totals),
        **_packets_of(broker, counts),
    }
    values = {
        "version": f"oncegate version {version}",
        "uptime": f"{int(uptime_seconds)} seconds",
    }
    values.update({name: str(number) for name, number in numbers.items()})
    values.update({f"errors/{name}": str(n) for name, n in broker.statistics.errors.items()})
    values.update({f"load/{name}": f"{average:.2f}" for name, average in averages.items()})
    return {ROOT + name: text.encode() for name, text in values.items()}


def _clients_of(broker: Broker) -> dict[str, int]:
    statistics = broker.statistics
    connected = statistics.clients_connected
    total = len(broker.state.sessions)
    return {
        "clients/total": total,
        "clients/connected": connected,
        "clients/active": connected,
        "clients/disconnected": total - connected,
        "clients/inactive": total - connected,
        "clients/maximum": statistics.clients_connected_max,
        "clients/expired": statistics.clients_expired,
        "connections/socket/count": statistics.connections_accepted,
    }


def _messages_of(broker: Broker, counts: dict[str, int], totals: Totals) -> dict[str, int]:
    statistics, state = broker.statistics, broker.state
    stored_count = (
        totals.queued_messages + totals.inflight + totals.awaiting_release + len(state.retained)
    )
    stored_bytes = (
        totals.queued_bytes
        + totals.inflight_bytes
        + totals.awaiting_release_bytes
        + state.retained_totals.size_bytes
    )
    return {
        "messages/received": counts["messages/received"],
        "messages/sent": counts["messages/sent"],
        "messages/stored": stored_count,
        "store/messages/count": stored_count,
        "store/messages/bytes": stored_bytes,
        "publish/messages/received": counts["publish/received"],
        "publish/messages/sent": counts["publish/sent"],
        "publish/messages/dropped": counts["publish/dropped"],
        "publish/bytes/received": statistics.publish_bytes_received,
        "publish/bytes/sent": statistics.publish_bytes_sent,
        "bytes/received": counts["bytes/received"],
        "bytes/sent": counts["bytes/sent"],
        "subscriptions/count": state.tree.subscription_count,
        "shared_subscriptions/count": state.tree.shared_count,
        "retained messages/count": len(state.retained),
        "disk/full": int(broker.limits.disk_full),
    }


def _packets_of(broker: Broker, counts: dict[str, int]) -> dict[str, int]:
    received, sent = broker.statistics.packets_received, broker.statistics.packets_sent
    numbers = {
        "packets/publish/received": counts["publish/received"],
        "packets/publish/sent": counts["publish/sent"],
    }
    for kind in RECEIVED_KINDS:
        numbers[f"packets/{kinds.KIND_NAMES[kind].lower()}/received"] = received[kind]
    for kind in SENT_KINDS:
        numbers[f"packets/{kinds.KIND_NAMES[kind].lower()}/sent"] = sent[kind]
    return numbers
