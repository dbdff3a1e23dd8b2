"""A report on a finding: the smallest input, its exception, and code to paste into the tests."""

import traceback
from pathlib import Path
from typing import Final

from tests.instruments.fuzz.byte_program import ByteProgram
from tests.instruments.fuzz.campaign import INPUT_SECONDS_MAX
from tests.instruments.fuzz.decoder_target import set_up_of
from tests.instruments.fuzz.minimising import failure_of, minimised
from tests.instruments.fuzz.targets import ALL

HEX_COLUMNS: Final = 66


def report_of(name: str, path: Path) -> str:
    """Write a report next to the finding at `path`, and return the report."""
    data = path.read_bytes()
    if f"{name}-timeout-" in path.name:
        said = f"It takes longer than {INPUT_SECONDS_MAX} seconds."
    else:
        data = minimised(ALL[name], data)
        failure = failure_of(ALL[name].check, data)
        said = "It does not raise again: what it does depends on what came before."
        if failure is not None:
            said = "".join(traceback.format_exception(failure))
    parts = [f"{name}: {len(data)} bytes, found as {path}", said, literal_of(name, data)]
    if name == "decoder":
        parts.append(vector_of(data))
    report = "\n\n".join(parts)
    path.with_name(f"{path.name}.txt").write_text(report + "\n")
    return report


def literal_of(name: str, data: bytes) -> str:
    """Return the entry for tests/instruments/fuzz/findings.py."""
    digits = data.hex(" ")
    lines = [digits[at : at + HEX_COLUMNS] for at in range(0, len(digits), HEX_COLUMNS)]
    quoted = "\n".join(f'            "{line}"' for line in lines)
    return (
        "For FOUND in tests/instruments/fuzz/findings.py:\n\n"
        f'    Finding(\n        "...",\n        "{name}",\n        bytes.fromhex(\n{quoted}\n'
        "        ),\n    ),"
    )


def vector_of(data: bytes) -> str:
    """Return the row for the tables of vectors in tests/broker/wire."""
    program = ByteProgram(data)
    set_up = set_up_of(program.byte())
    program.take(2)
    sender = "bad" if set_up.side == "server" else "bad_from_server"
    return (
        "Into the tables of tests/broker/wire, if refused (version 0: before CONNECT):\n\n"
        f'    {sender}("...", {set_up.version}, octets("{program.rest().hex(" ")}"), wrong.REASON),'
    )
