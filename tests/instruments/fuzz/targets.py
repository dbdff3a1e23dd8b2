"""The targets by name: their functions, their seeds, and their longest inputs."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from tests.instruments.fuzz import (
    connection_target,
    decoder_target,
    framing_target,
    journal_target,
    planted,
    segment_target,
)
from tests.instruments.fuzz.seeds import (
    connection_seeds,
    decoder_seeds,
    journal_seeds,
    segment_seeds,
)


class Target(NamedTuple):
    """A function to fuzz."""

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    input_bytes_max: int
    has_actions: bool
    """The input is a program whose actions mutations must keep intact."""


TARGETS: Final = {
    "decoder": Target(decoder_target.check, decoder_seeds, 4_096, False),
    "connection": Target(connection_target.check, connection_seeds, 512, True),
    "journal": Target(journal_target.check, journal_seeds, 256, True),
    "segment": Target(segment_target.check, segment_seeds, 512, True),
    "framing": Target(framing_target.check, lambda: iter(framing_target.seeds()), 1_500, False),
}

PLANTED: Final = {
    "decoder-that-raises": TARGETS["decoder"]._replace(
        check=partial(decoder_target.check, make=planted.RaisingDecoder)
    ),
    "broker-in-haste": TARGETS["connection"]._replace(
        check=partial(connection_target.check, make=planted.HastyWorld)
    ),
    "journal-that-takes-zeros-for-the-end": TARGETS["journal"]._replace(
        check=partial(journal_target.check, make=planted.TrustingScan)
    ),
    "segment-that-is-believed": TARGETS["segment"]._replace(
        check=partial(segment_target.check, verify=planted.believed)
    ),
    "framing-that-raises": TARGETS["framing"]._replace(
        check=partial(framing_target.check, make=planted.raising_framing)
    ),
}
"""Targets with one planted defect each, for the tests of the fuzzer."""

ALL: Final = TARGETS | PLANTED
