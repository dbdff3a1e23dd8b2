"""The command `oncegate-device SUBCOMMAND`, which is run as root on the card.

Each subcommand imports only the modules it needs. This matters for `booted`, which runs at every
start: importing the gateway would take a second on a slow board.
"""

import subprocess
import sys
from collections.abc import Callable

from oncegate_device import card, updates
from oncegate_device.installing import FailedError, RefusedError, go_back, install
from oncegate_device.places import Places
from oncegate_device.start import KEPT_TRIES, Moment, NotACardError, Start, moment_of, start_of
from oncegate_device.updates import Record, booted, kept, unhealthy

USE = """\
use: oncegate-device update [--rollback-ends] FILE|URL | back | status | provision | healthy
     oncegate-device booted TRIES | kept | unhealthy REASON   (for the check of a slot)
    oncegate-device named NAME                               (for the check of the name)
    oncegate-device network | network-keep | network-restore (for changes from the page)
    oncegate-device update-check | update-carry-out          (for updates from the page)"""


EXIT_USAGE = 2
"""Exit status for wrong arguments, the same as that of `oncegate`."""


def main(arguments: list[str]) -> int:
    """Run the subcommand in `arguments` and return the exit status, which is 0 on success."""
    try:
        return _run(arguments)
    except RefusedError as error:
        print(f"not begun: {error}", file=sys.stderr)
    except FailedError as error:
        print(f"not installed: {error}", file=sys.stderr)
    except (NotACardError, OSError, subprocess.SubprocessError) as error:
        print(f"oncegate-device {arguments[0]}: {error}", file=sys.stderr)
    return 1


def _run(arguments: list[str]) -> int:
    match arguments:
        case ["update", *options, source] if options in ([], ["--rollback-ends"]):
            print(install(source, Places(), rollback_ends=bool(options)))
        case ["status"]:
            print(card.status(Places()))
        case ["booted", tries]:
            is_trial = tries != KEPT_TRIES if tries.isdecimal() else None
            _record(lambda record, now, start: booted(record, now, start, is_trial=is_trial))
        case ["kept"]:
            _record(kept)
        case ["unhealthy", reason]:
            _record(lambda record, now, start: unhealthy(record, now, start, reason))
        case ["named", name]:
            from oncegate_device.naming import note  # noqa: PLC0415

            note(name, Places())
        case ["provision"]:
            return _provision()
        case ["update-check" | "update-carry-out" as step]:
            return _update(step)
        case ["back"]:
            print(go_back(Places()))
        case ["network" | "network-keep" | "network-restore" as step]:
            _network(step)
        case ["healthy"]:
            return _healthy()
        case _:
            print(USE, file=sys.stderr)
            return EXIT_USAGE
    return 0


def _record(step: Callable[[Record, Moment, Start], Record]) -> None:
    """Update the record of updates with the function `step`, and publish the card's status.

    The record is saved if it has changed.
    """
    places = Places()
    start = start_of(places)
    try:
        before = updates.load(places)
        after = step(before, moment_of(places), start)
        if after != before or not places.updates.exists():
            updates.save(after, places)
    finally:
        card.publish(places, start)


def _update(step: str) -> int:
    from oncegate_device import update_requests  # noqa: PLC0415

    if step == "update-carry-out":
        return update_requests.carry_out(Places())
    update_requests.check(Places())
    return 0


def _network(step: str) -> None:
    from oncegate_device import network, requests  # noqa: PLC0415

    if step == "network":
        requests.carry_out(Places())
    elif step == "network-keep":
        network.keep(Places())
    elif Places().network_before.exists():
        network.restore(Places(), "the gateway was restarted before it was kept")


def _provision() -> int:
    from oncegate_device.provisioning import provision  # noqa: PLC0415
    from oncegate_device.wanted import WantedError  # noqa: PLC0415

    try:
        print("\n".join(provision(Places())))
    except WantedError as error:
        print("gateway.toml was not taken:", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    return 0


def _healthy() -> int:
    from oncegate_device.health import NotHealthyError, check  # noqa: PLC0415

    try:
        print(check())
    except NotHealthyError as error:
        print(f"not healthy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
