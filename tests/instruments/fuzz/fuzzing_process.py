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
from collections.abc import Callable

import atheris

INSTRUMENTED = (
    "gateway.wire",
    "gateway.core",
    "gateway.store",
    "gateway.session_log",
    "firmware_bridge",
)


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


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    early = [name for name in sys.modules if name.startswith(INSTRUMENTED)]
    assert not early, f"imported too early: {early}"
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        targets = importlib.import_module("tests.instruments.fuzz.targets")
    decoder = importlib.import_module("gateway.wire.decoder")
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
