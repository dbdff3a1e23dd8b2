"""`oncegate serial`: what is plugged in, what comes, recorded and replayed."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.failures import EXIT_USAGE, CommandFailed, say
from gateway.cli.options import JsonOption
from gateway.cli.output import show

if TYPE_CHECKING:
    from firmware_bridge.protocols.interface import DecoderSettings
    from firmware_bridge.serial.link import Link
    from firmware_bridge.serial.recording import Chunk
    from firmware_bridge.serial.settings import PortSettings
    from rich.console import RenderableType

application = typer.Typer(
    help="Look at serial ports beside the bridge: list, sniff, detect, record, replay.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
PortArgument = Annotated[
    str,
    typer.Argument(
        metavar="PORT", help="/dev/ttyUSB0, VID:PID[:SERIAL], tcp://HOST:PORT, rfc2217://HOST:PORT."
    ),
]
LineOption = Annotated[
    str, typer.Option("--line", "-l", metavar="LINE", help='The line: "115200 8N1", "9600 7E1".')
]
SecondsOption = Annotated[
    float | None,
    typer.Option("--seconds", "-s", help="End after so long; else at Ctrl-C.", min=0.01),
]
BYTES_A_ROW = 16
# `detect` looks no further.
SURE_ENOUGH = 0.95


@application.command("list")
def list_ports(as_json: JsonOption = False) -> None:
    """List the serial ports of this machine, and the lines for gateway.toml that name them.

    Example:

        oncegate serial list
    """
    show({"ports": list(_ports_found())}, _ports_table, as_json=as_json)


@application.command()
def sniff(
    port: PortArgument,
    line: LineOption = "115200 8N1",
    framing: Annotated[
        str | None, typer.Option("--framing", "-f", help="Decode as this: json, nmea, board ...")
    ] = None,
    seconds: SecondsOption = None,
) -> None:
    """Show what a port receives: its bytes, and beside them what a protocol makes of them.

    Damage is marked with "!!". Nothing is sent. A port that the bridge has open is refused.

    Examples:

        oncegate serial sniff /dev/ttyUSB0 --line "9600 8N1" --framing nmea

        oncegate serial sniff rfc2217://192.0.2.7:7001 --seconds 10
    """
    from firmware_bridge.serial.watching import Reading, chunks_of_port

    reading = None if framing is None else Reading(_decoder_settings_of(framing))

    async def watch(link: "Link") -> None:
        async for chunk in chunks_of_port(link, seconds):
            frames, damage = ([], []) if reading is None else reading.read(chunk.data)
            for row in _rows_of(chunk, [*frames, *(f"!! {reason}" for reason in damage)]):
                print(row, flush=True)

    _run_on(_settings_of(port, line), watch)
    if reading is not None:
        print(f"{reading.frames} frames, {reading.damaged} damaged")


@application.command()
def record(
    port: PortArgument,
    file: Annotated[Path, typer.Argument(help="A new file for the recording.")],
    line: LineOption = "115200 8N1",
    seconds: SecondsOption = None,
) -> None:
    """Record what a port receives, with its timing, for `serial replay`.

    Example:

        oncegate serial record /dev/ttyUSB0 scale.jsonl --line "9600 7E1" --seconds 60
    """
    import time

    from firmware_bridge.serial.recording import head_of, line_of
    from firmware_bridge.serial.watching import chunks_of_port

    settings = _settings_of(port, line)
    count = 0

    async def write(link: "Link") -> None:
        nonlocal count
        with file.open("xb") as output:
            output.write(head_of(port, line, int(time.time() * 1000)))
            async for chunk in chunks_of_port(link, seconds):
                output.write(line_of(chunk))
                output.flush()
                count += len(chunk.data)

    _run_on(settings, write)
    print(f"{count} bytes recorded in {file}")


@application.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A file of `serial record`.", exists=True)],
    link: Annotated[
        Path, typer.Option("--link", help="Where a link to the pseudo-terminal is made.")
    ] = Path("replay"),
    fast: Annotated[
        bool, typer.Option("--fast", help="As fast as it is read, not as it was recorded.")
    ] = False,
) -> None:
    """Replay a recording on a pseudo-terminal, which the bridge may read as a port.

    It begins when the terminal is opened: set `path` in a [[serial]] table to the link.

    Example:

        oncegate serial replay scale.jsonl --link /tmp/scale --fast
    """
    from firmware_bridge.serial.recording import UnreadableRecording
    from firmware_bridge.serial.replaying import LinkTaken, replay_on_terminal

    try:
        with file.open("rb") as lines:
            count = replay_on_terminal(lines, link, fast=fast)
    except (UnreadableRecording, LinkTaken) as error:
        raise CommandFailed(f"{file}: {error}") from None
    print(f"{count} bytes replayed")


@application.command()
def detect(
    port: PortArgument,
    seconds: Annotated[
        float, typer.Option("--seconds", "-s", help="For each setting of the line.", min=0.05)
    ] = 3.0,
    line: Annotated[
        str | None, typer.Option("--line", "-l", metavar="LINE", help="Try this line only.")
    ] = None,
) -> None:
    """Find out what a port receives: try speeds and protocols, print what to configure.

    Nothing is sent, so devices that have to be asked are not found. A sensor that sends seldom
    needs more --seconds.

    Example:

        oncegate serial detect /dev/ttyUSB0
    """
    import asyncio

    from firmware_bridge.serial.detecting import LINES, Guess
    from firmware_bridge.serial.detecting import detect as tried
    from firmware_bridge.serial.link import PortLost

    settings = _settings_of(port, line or str(LINES[0]))
    is_raw = port.startswith("tcp://")
    lines = (settings.line,) if line is not None or is_raw else LINES
    found: list[Guess] = []

    async def try_all() -> None:
        async for each, count, guesses in tried(settings, seconds, lines):
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
    best = max(found, key=lambda guess: (guess.sure, guess.frames), default=None)
    if best is None:
        raise CommandFailed(
            "no protocol was recognised: look at the bytes with `oncegate serial sniff`, or give a "
            "sensor that sends seldom more --seconds"
        )
    key = "address" if settings.address else "usb" if settings.usb else "path"
    table = best.toml("sensor", f'{key} = "{port}"')
    if is_raw:
        table = table.replace(f'line = "{best.line}"\n', "")
    print(f"# {best.sure:.0%} sure: {best.frames} frames, {best.damaged} damaged\n{table}", end="")


def _ports_found() -> "Iterator[dict[str, Any]]":
    from serial.tools import list_ports as found

    by_id = {
        str(each.resolve()): str(each)
        for each in sorted(
            Path("/dev/serial/by-id").glob("*")
        )  # absent where nothing is plugged in
    }
    for port in sorted(found.comports()):
        is_usb = port.vid is not None
        usb = f"{port.vid:04x}:{port.pid:04x}" if is_usb else None
        yield {
            "path": port.device,
            "by_id": by_id.get(port.device),
            "usb": f"{usb}:{port.serial_number}" if usb and port.serial_number else usb,
            "description": None if port.description == "n/a" else port.description,
            "toml": f'usb = "{usb}"' if usb else f'path = "{by_id.get(port.device, port.device)}"',
        }


def _ports_table(answer: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not answer["ports"]:
        return "No serial port is plugged in. Is the cable one for data? See: dmesg | tail"
    table = Table(box=box.SIMPLE)
    for column in ("port", "USB identity", "what it says it is", "for gateway.toml"):
        table.add_column(column, overflow="fold")
    for port in answer["ports"]:
        values = (port["path"], port["usb"], port["description"], port["toml"])
        table.add_row(*(Text(ascii(value)[1:-1] if value else "-") for value in values))
    return table


def _rows_of(chunk: "Chunk", texts: list[str]) -> "Iterator[str]":
    """Yield the bytes 16 a row, with what they mean beside the first rows."""
    data = chunk.data
    pieces = [data[at : at + BYTES_A_ROW] for at in range(0, len(data), BYTES_A_ROW)]
    for number in range(max(len(pieces), len(texts))):
        piece = pieces[number] if number < len(pieces) else b""
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        at = f"{chunk.seconds:10.3f}" if number == 0 else " " * 10
        text = ascii(texts[number])[1:-1] if number < len(texts) else ""
        yield f"{at}  {piece.hex(' '):47}  {shown:16}  {text}".rstrip()


def _decoder_settings_of(framing: str) -> "DecoderSettings":
    from firmware_bridge.protocols.interface import DecoderSettings
    from firmware_bridge.protocols.table import PROTOCOLS

    protocol = PROTOCOLS.get(framing)
    if protocol is None or not issubclass(protocol, DecoderSettings):
        known = ", ".join(n for n, each in PROTOCOLS.items() if issubclass(each, DecoderSettings))
        raise CommandFailed(f"--framing {framing}: use one of {known}", exit_code=EXIT_USAGE)
    try:
        return protocol()
    except TypeError:
        raise CommandFailed(
            f"--framing {framing} needs keys of its own: record the line, and replay it to a "
            "bridge with that configuration",
            exit_code=EXIT_USAGE,
        ) from None


def _settings_of(port: str, line: str) -> "PortSettings":
    import re

    from firmware_bridge.protocols.json_lines import JsonLines
    from firmware_bridge.serial.settings import PortSettings
    from pydantic_core import PydanticCustomError

    from gateway.keys.serial_line import LineText

    try:
        settings = LineText().value_of(line)
    except PydanticCustomError as error:
        raise CommandFailed(f"--line: use {error}", exit_code=EXIT_USAGE) from None
    is_address = re.fullmatch(r"(tcp|rfc2217)://.+:\d{1,5}", port) is not None
    is_usb = re.fullmatch(r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:.+)?", port) is not None
    return PortSettings(
        "port",
        None if is_address or is_usb else port,
        port if is_usb else None,
        "json",
        JsonLines(),
        settings,
        address=port if is_address else None,
    )


def _run_on(settings: "PortSettings", work: Any) -> None:
    """Open the port and do the work on it; Ctrl-C ends it as `--seconds` does."""
    import asyncio

    from firmware_bridge.serial.link import PortLost
    from firmware_bridge.serial.opening import open_port

    async def run() -> None:
        link = await open_port(settings)
        try:
            await work(link)
        finally:
            link.close()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        pass
    except PortLost as lost:
        raise CommandFailed(str(lost)) from None
