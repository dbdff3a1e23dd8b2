"""Connections that are being closed are limited, so that file descriptors remain for files."""

from gateway.broker.server.event_loop.channel import Channel
from gateway.broker.server.event_loop.closing import CLOSING_MAX, FILES, ClosingChannels
from gateway.process.files import descriptors


class Noted(Channel):
    """A channel that records whether it was cut."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cut = False

    def write(self) -> None:
        raise AssertionError("nothing is written to a channel that is being closed")

    def update_reading(self) -> None:
        raise AssertionError("it is not read from")

    def abort(self) -> None:
        self.is_cut = True


def test_beyond_the_limit_the_oldest_one_is_cut() -> None:
    closing = ClosingChannels(())
    channels = [Noted() for _ in range(CLOSING_MAX + 2)]
    for each in channels:
        closing.add(each)
    assert [each.is_cut for each in channels[:3]] == [True, True, False]
    closing.forget(channels[2])
    assert closing.cut_oldest()
    assert not channels[2].is_cut
    assert channels[3].is_cut


def test_where_none_is_being_closed_none_is_cut() -> None:
    assert not ClosingChannels(()).cut_oldest()


def test_room_is_short_where_one_more_connection_would_take_a_file_s_descriptor() -> None:
    most = descriptors.limit() - FILES
    assert not ClosingChannels(range(most - 1)).is_room_short()
    assert ClosingChannels(range(most)).is_room_short()
