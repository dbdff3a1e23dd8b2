"""The outbox's clock and the age limit for readings."""

from firmware_bridge.outbox.ageing import Ageing


def test_time_continues_from_the_latest_arrival() -> None:
    ageing = Ageing(1000, 100)
    assert 1000 <= ageing.now() < 1090
    assert ageing.is_old(800)
    assert not ageing.is_old(1000)


def test_without_a_limit_nothing_is_old() -> None:
    ageing = Ageing(10**9, None)
    ageing.oldest = 0
    assert not ageing.oldest_is_old
