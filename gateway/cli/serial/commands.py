"""`oncegate serial`: lists ports, shows and records what they receive, and replays recordings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.common.failures import CommandFailed
from gateway.cli.common.options import ConfigOption, JsonOption
from gateway.cli.common.output import show

if TYPE_CHECKING:
    from firmware_bridge.serial.link import Link
    from firmware_bridge.serial.settings import PortSettings


application = typer.Typer(
    help="Examine serial ports without the bridge: list, sniff, detect, record, replay.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
PortArgument = Annotated[
    str,
    typer.Argument(
        metavar="PORT",
        help="The port: /dev/ttyUSB0, VID:PID[:SERIAL], tcp://HOST:PORT or rfc2217://HOST:PORT.",
    ),
]
OptionalPortArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[PORT]",
        help="The port, like /dev/ttyUSB0 or tcp://HOST:PORT. Default: the port of --port.",
    ),
]
LineOption = Annotated[
    str,
    typer.Option(
        "--line", "-l", metavar="LINE", help='Line settings, like "115200 8N1" or "9600 7E1".'
    ),
]
OptionalLineOption = Annotated[
    str | None,
    typer.Option(
        "--line",
        "-l",
        metavar="LINE",
        help="Line settings. Default: those of --port, else 115200 8N1.",
    ),
]
FramingOption = Annotated[
    str | None,
    typer.Option(
        "--framing",
        "-f",
        help="Protocol with which to decode the bytes: json, nmea, board and others.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--port", "-p", metavar="NAME", help="Name of a serial port in the configuration."
    ),
]
SecondsOption = Annotated[
    float | None,
    typer.Option(
        "--seconds", "-s", help="Stop after this many seconds. Default: stop at Ctrl-C.", min=0.01
    ),
]


@application.command("list")
def list_ports(as_json: JsonOption = False) -> None:
    """List the serial ports of this machine, with the lines for gateway.toml that select them.

    Example:

        oncegate serial list
    """
    from firmware_bridge.serial.plugged import ports_found

    from gateway.cli.serial.tables import ports_table

    show({"ports": list(ports_found())}, ports_table, as_json=as_json)


@application.command("devices")
def list_devices(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the known Modbus devices: the names that the key `device` accepts.

    Set this key in gateway.toml for each device on a Modbus port. Put
    descriptions of your own devices in devices/, next to the configuration file.

    Example:

        oncegate serial devices
    """
    from gateway.cli.serial.tables import devices_found, devices_table

    show({"devices": list(devices_found(config))}, devices_table, as_json=as_json)


@application.command()
def sniff(
    port: OptionalPortArgument = None,
    line: OptionalLineOption = None,
    framing: FramingOption = None,
    name: NameOption = None,
    config: ConfigOption = None,
    seconds: SecondsOption = None,
    listen: Annotated[
        bool, typer.Option("--listen", help="Show Modbus requests of others, and send none.")
    ] = False,
) -> None:
    """Show what a port receives: the bytes, and next to them the decoded values.

    Errors are marked with "!!" next to the bytes that cause them. A port that
    the bridge has open cannot be watched. With --port, the port, its line
    settings and its protocol are taken from the configuration; PORT and --line
    override them. Nothing is sent, with one exception: the devices of a Modbus
    port in the configuration are polled as the bridge polls them. ">" marks a
    request, "<" a response. With --listen, or --framing modbus, the requests
    and responses of other programs are shown instead.

    Examples:

        oncegate serial sniff /dev/ttyUSB0 --line "9600 8N1" --framing nmea

        oncegate serial sniff rfc2217://192.0.2.7:7001 --seconds 10

        oncegate serial sniff --config gateway.toml --port dust

        oncegate serial sniff --config gateway.toml --port rs485 --listen
    """
    from gateway.cli.serial.ports import watched_of
    from gateway.cli.serial.sniff import Sniffer

    watched = watched_of(port, line, framing, name, config, listen=listen)
    sniffing = Sniffer(watched, seconds, lambda row: print(row, flush=True))
    _run_on(watched.port, sniffing.run)
    if sniffing.summary is not None:
        print(sniffing.summary)


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

    from gateway.cli.serial.ports import settings_of

    settings = settings_of(port, line)
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
    file: Annotated[
        Path, typer.Argument(help="A file written by `oncegate serial record`.", exists=True)
    ],
    link: Annotated[
        Path, typer.Option("--link", help="Path of the link to the pseudo-terminal.")
    ] = Path("replay"),
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Replay as fast as it is read, not at the recorded speed."),
    ] = False,
) -> None:
    """Replay a recording on a pseudo-terminal that the bridge can read as a port.

    Set the key `path` of a serial port to the link. The replay starts when a
    program opens the pseudo-terminal.

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
        float, typer.Option("--seconds", "-s", help="Seconds for each line setting.", min=0.05)
    ] = 3.0,
    line: Annotated[
        str | None, typer.Option("--line", "-l", metavar="LINE", help="Try only this line.")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Poll for a meter (D0, M-Bus) if nothing is received.")
    ] = False,
) -> None:
    """Find the line settings and protocol of a port, and print what to configure.

    Nothing is sent without --ask, so devices that must be polled are not found.
    For a sensor that seldom sends, increase --seconds.

    Example:

        oncegate serial detect /dev/ttyUSB0
    """
    from firmware_bridge.serial.detecting import LINES

    from gateway.cli.serial.detect import NOT_RECOGNISED, answers_on, guesses_on, print_guess
    from gateway.cli.serial.ports import settings_of

    settings = settings_of(port, line or str(LINES[0]))
    is_raw = port.startswith("tcp://")
    found = guesses_on(settings, seconds, LINES if line is None and not is_raw else None)
    if ask and not found and settings.address is None:
        found = answers_on(settings)
    best = max(found, key=lambda guess: (guess.sure, guess.frames), default=None)
    if best is None:
        raise CommandFailed(NOT_RECOGNISED)
    key = "address" if settings.address else "usb" if settings.usb else "path"
    table = best.toml("sensor", f'{key} = "{port}"')
    if is_raw:
        table = table.replace(f'line = "{best.line}"\n', "")
    print_guess(best, table)


def _run_on(settings: "PortSettings", work: Any) -> None:
    """Open a port, run `work` on it, and close it. Ctrl-C ends `work` without an error.

    Raises CommandFailed if the port cannot be opened or fails.
    """
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
