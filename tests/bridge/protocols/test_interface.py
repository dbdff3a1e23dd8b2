"""Defaults of the interface, which a protocol need not define itself."""

from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.json_lines import JsonLines

from tests.bridge.meters import Meter, MeterPoller, Meters


def test_an_answer_whose_time_is_over_is_missing_or_truncated() -> None:
    poller = MeterPoller(Meters(meters=(Meter(address=1, name="north"),)))
    assert poller.time_out(b"") == Damage("no_answer")
    assert poller.time_out(b"!0") == Damage("truncated")


def test_a_decoder_that_needs_no_silence_finds_nothing_in_it_and_cannot_wait() -> None:
    decoder = JsonLines().decoder()
    assert decoder.flush() == []
