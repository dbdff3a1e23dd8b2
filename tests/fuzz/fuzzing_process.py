"""The process that fuzzes one target; `python -m tests.fuzz` starts one for each.

    python -m tests.fuzz.fuzzing_process TARGET [option of libFuzzer or folder of inputs]...

libFuzzer never returns: it ends the process when its time is up or at the first input that raises.
The broker is instrumented as it is imported, so this must be the first to import it.
"""

import importlib
import sys

import atheris

INSTRUMENTED = ("gateway.wire", "gateway.core")


def mutate(data: bytes, size_max_bytes: int) -> bytes:
    """libFuzzer's own mutation; atheris puts it in its place when fuzzing begins."""
    return bytes(atheris.Mutate(data, size_max_bytes))


def main() -> None:
    """Fuzz until libFuzzer ends the process."""
    assert not any(name.startswith("gateway") for name in sys.modules), "imported too early"
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        targets = importlib.import_module("tests.fuzz.targets")
    decoder = importlib.import_module("gateway.wire.decoder")
    assert str(decoder.__file__).endswith(".py"), "compiled code shows no coverage"
    target = targets.ALL[sys.argv[1]]
    options: dict[str, object] = {}
    if target.has_actions:
        mutator = importlib.import_module("tests.fuzz.mutator")
        options["custom_mutator"] = mutator.ActionMutator(list(target.seeds()), mutate)
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.check, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
