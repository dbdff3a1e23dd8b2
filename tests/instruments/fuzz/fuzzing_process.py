"""The process that fuzzes one target; `python -m tests.instruments.fuzz` starts one per target.

    python -m tests.instruments.fuzz.fuzzing_process TARGET
        [option of libFuzzer or folder of inputs]...

libFuzzer never returns: it ends the process when the time is over or at the first input that
raises. Broker and bridge are instrumented at their import, so no other module may import them
before.
"""

import importlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "gateway": ROOT / "gateway",
    "firmware_bridge": ROOT / "firmware-bridge/firmware_bridge",
}
INSTRUMENTED = {
    ("decoder", "decoder-that-raises"): ("gateway.broker.wire",),
    ("connection", "broker-in-haste"): ("gateway", "firmware_bridge"),
    ("journal", "journal-that-takes-zeros-for-the-end"): (
        "gateway.broker.core",
        "gateway.broker.store",
    ),
    ("segment", "segment-that-is-believed"): ("gateway.uploader",),
    ("framing", "framing-that-raises"): ("firmware_bridge",),
}
"""The packages that process an input, by target.

Each instrumented module slows down the start and each run.
"""


def mutate(data: bytes, size_max_bytes: int) -> bytes:
    """Call libFuzzer's own mutation, which exists in atheris only after fuzzing has begun."""
    return bytes(atheris.Mutate(data, size_max_bytes))


def stopping_the_timer(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Return `check` with an addition: it stops libFuzzer's timer before an exception.

    The timer detects inputs that hang. It is still running while Python exits and the handler of
    its signal no longer exists. Then the signal would kill the process before it has written its
    finding.
    """

    def checked(data: bytes) -> None:
        try:
            check(data)
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise

    return checked


def modules_outside(rooms: tuple[str, ...]) -> Iterator[str]:
    """Yield the modules of our packages that are outside the given rooms."""
    for package, folder in PACKAGES.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts)).removesuffix(".__init__")
            if not name.startswith(rooms):
                yield name


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    (rooms,) = (rooms for names, rooms in INSTRUMENTED.items() if sys.argv[1] in names)
    early = [name for name in sys.modules if name.startswith(rooms)]
    assert not early, f"imported too early: {early}"
    # atheris includes whole packages only: it ignores the part of a name after a dot.
    with atheris.instrument_imports(include=list(PACKAGES), exclude=list(modules_outside(rooms))):
        targets = importlib.import_module("tests.instruments.fuzz.targets")
    decoder = importlib.import_module("gateway.broker.wire.decoder")
    assert str(decoder.__file__).endswith(".py"), "compiled code shows no coverage"
    target = targets.ALL[sys.argv[1]]
    logging.disable(logging.CRITICAL)  # damaged input causes many log lines
    options: dict[str, object] = {}
    if target.has_actions:
        mutator = importlib.import_module("tests.instruments.fuzz.mutator")
        options["custom_mutator"] = mutator.ActionMutator(list(target.seeds()), mutate)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], stopping_the_timer(target.check), **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
