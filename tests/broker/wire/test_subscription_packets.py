"""SUBSCRIBE, UNSUBSCRIBE and their acknowledgements as values."""

import pytest

from gateway.broker.wire.packets import Packet, Properties
from gateway.broker.wire.subscription_packets import (
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)

OTHER = Properties()
OTHER.reason_string = "other"


def test_a_subscription_differs_by_each_of_its_options() -> None:
    plain = Subscription("a", 0)
    assert plain == Subscription("a", 0, False, False, 0)
    others = [
        Subscription("b", 0),
        Subscription("a", 1),
        Subscription("a", 0, no_local=True),
        Subscription("a", 0, retain_as_published=True),
        Subscription("a", 0, retain_handling=1),
    ]
    for index, other in enumerate(others):
        assert other != plain
        assert [each == other for each in others].count(True) == 1, index


@pytest.mark.parametrize(
    ("packet", "others"),
    [
        (
            Subscribe(1, [Subscription("a", 0)]),
            [
                Subscribe(2, [Subscription("a", 0)]),
                Subscribe(1, [Subscription("a", 1)]),
                Subscribe(1, [Subscription("a", 0)], OTHER),
            ],
        ),
        (Suback(1, [0]), [Suback(2, [0]), Suback(1, [1]), Suback(1, [0], OTHER), Unsuback(1, [0])]),
        (
            Unsubscribe(1, ["a"]),
            [Unsubscribe(2, ["a"]), Unsubscribe(1, ["b"]), Unsubscribe(1, ["a"], OTHER)],
        ),
        (Unsuback(1, []), [Unsuback(2, []), Unsuback(1, [0]), Unsuback(1, [], OTHER)]),
    ],
)
def test_a_packet_differs_by_each_of_its_fields(packet: Packet, others: list[Packet]) -> None:
    for other in others:
        assert other != packet
        assert repr(other) != repr(packet)
