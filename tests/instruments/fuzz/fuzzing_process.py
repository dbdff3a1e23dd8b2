"""The process that fuzzes one target; `python -m tests.instruments.fuzz` starts one for each.

    python -m tests.instruments.fuzz.fuzzing_process TARGET
        [option of libFuzzer or folder of inputs]...

libFuzzer never returns: it ends the process when its time is up or at the first input that raises.
Broker and bridge are instrumented as they are imported, so this must be the first to import them.
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
"""By targets, the rooms that work on an input: each module that is instrumented takes time at the
start, and in each run."""


def mutate(data: bytes, size_max_bytes: int) -> bytes:
    """libFuzzer's own mutation; atheris puts it in its place when fuzzing begins."""
    return bytes(atheris.Mutate(data, size_max_bytes))


def stopping_the_timer(check: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """`check`, which stops libFuzzer's timer where it raises.

    The timer looks for inputs that hang. It goes on while Python ends, when the handler of its
    signal is gone: the process would be killed before it has written what it found.
    """

    def checked(data: bytes) -> None:
        try:
            check(data)
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise

    return checked


def modules_outside(rooms: tuple[str, ...]) -> Iterator[str]:
    """Return the modules of our packages that are in none of these rooms."""
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
    # What is included counts as whole packages, whatever stands behind a dot.
    with atheris.instrument_imports(include=list(PACKAGES), exclude=list(modules_outside(rooms))):
        targets = importlib.import_module("tests.instruments.fuzz.targets")
    decoder = importlib.import_module("gateway.broker.wire.decoder")
    assert str(decoder.__file__).endswith(".py"), "compiled code shows no coverage"
    target = targets.ALL[sys.argv[1]]
    logging.disable(logging.CRITICAL)  # of what is damaged there is much to be said
    options: dict[str, object] = {}
    if target.has_actions:
        mutator = importlib.import_module("tests.instruments.fuzz.mutator")
        options["custom_mutator"] = mutator.ActionMutator(list(target.seeds()), mutate)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], stopping_the_timer(target.check), **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
