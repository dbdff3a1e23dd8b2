"""The targets by name: what to call with an input, where to begin, how long an input may be."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

from tests.fuzz import connection_target, decoder_target, planted
from tests.fuzz.seeds import connection_seeds, decoder_seeds


class Target(NamedTuple):
    """One thing to fuzz."""

    check: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    input_bytes_max: int
    has_actions: bool
    """An input is a program: mutations keep its actions whole."""


TARGETS: Final = {
    "decoder": Target(decoder_target.check, decoder_seeds, 4_096, False),
    "connection": Target(connection_target.check, connection_seeds, 512, True),
}

PLANTED: Final = {
    "decoder-that-raises": TARGETS["decoder"]._replace(
        check=partial(decoder_target.check, make=planted.RaisingDecoder)
    ),
    "broker-in-haste": TARGETS["connection"]._replace(
        check=partial(connection_target.check, make=planted.HastyWorld)
    ),
}
"""The same with a defect each, for the tests of the fuzzer."""

ALL: Final = TARGETS | PLANTED
