"""Detects the protocol on a port by listening or polling, for `oncegate serial detect`."""

import asyncio
from collections.abc import Sequence

from firmware_bridge.serial.detecting import SURE_ENOUGH, Guess, detect
from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.meter_search import poll_for_meter
from firmware_bridge.serial.settings import PortSettings

from gateway.cli.common.failures import CommandFailed, say
from gateway.cli.serial.tables import sample_rows
from gateway.process.declarations.serial_line import Line

NOT_RECOGNISED = (
    "no protocol was recognised: look at the bytes with `oncegate serial sniff`; for a sensor "
    "that seldom sends, increase --seconds; --ask finds D0 and M-Bus meters; Modbus devices must "
    "be polled: configure them in a [[serial]] and use `oncegate serial sniff --config FILE --port "
    "NAME`"
)


def print_guess(best: Guess, table: str) -> None:
    """Print the certainty of a guess about the protocol, and the latest frame's values.

    Then print `table`, the configuration for this protocol.
    """
    print(f"# {best.sure:.0%} sure: {best.frames} frames, {best.damaged} damaged")
    for row in () if best.latest is None else sample_rows(best.latest):
        print(f"# {row}")
    print(table, end="")


def guesses_on(settings: PortSettings, seconds: float, lines: Sequence[Line] | None) -> list[Guess]:
    """Listen to a port, and return guesses about its protocol.

    Each of the line settings in `lines` is tried for `seconds` seconds, until a guess is almost
    certain. If `lines` is None, only the port's own line settings are tried. Raises CommandFailed
    if the port fails.
    """
    found: list[Guess] = []

    async def try_all() -> None:
        async for each, count, guesses in detect(settings, seconds, lines or (settings.line,)):
            found.extend(guesses)
            best = max(guesses, key=lambda guess: guess.sure, default=None)
            shown = f"{best.framing} {best.sure:.0%}" if best is not None else "nothing known"
            say(f"{each}: {count} bytes, {shown}")
            if best is not None and best.sure > SURE_ENOUGH:
                return

    try:
        asyncio.run(try_all())
    except PortLost as lost:
        raise CommandFailed(str(lost)) from None
    return found


def answers_on(settings: PortSettings) -> list[Guess]:
    """Poll a port with requests for several kinds of meters until a meter responds.

    Return a list with one guess if a meter responds, otherwise an empty list. Raises CommandFailed
    if the port fails.
    """

    async def ask_all() -> list[Guess]:
        async for line, framing, guess in poll_for_meter(settings):
            say(f"{line}: {framing} asked, {'answered' if guess is not None else 'no answer'}")
            if guess is not None:
                return [guess]
        return []

    try:
        return asyncio.run(ask_all())
    except PortLost as lost:
        raise CommandFailed(str(lost)) from None
