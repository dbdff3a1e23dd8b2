"""`oncegate-device VERB`, as root on the card."""

import sys

from oncegate_device.health import NotHealthyError, check
from oncegate_device.provisioning import provision
from oncegate_device.settings import Places
from oncegate_device.wanted import WantedError

USE = "oncegate-device provision | healthy"


def main(arguments: list[str]) -> int:
    """Run one verb; the exit status is 0 where it succeeded."""
    try:
        if arguments == ["provision"]:
            print("\n".join(provision(Places())))
        elif arguments == ["healthy"]:
            print(check())
        else:
            print(f"use: {USE}", file=sys.stderr)
            return 64
    except WantedError as error:
        print("gateway.toml was not taken:", *error.problems, sep="\n  ", file=sys.stderr)
        return 1
    except NotHealthyError as error:
        print(f"not healthy: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
