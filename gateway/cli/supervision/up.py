"""`oncegate up`: the whole gateway on this machine, with one command."""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.configuration_file import file_of
from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK
from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    ListenOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.api import PortOption
from gateway.cli.services.broker import LISTENER_FIX
from gateway.cli.supervision.children import board_link, children_of, of_tenant

if TYPE_CHECKING:
    from gateway.cli.supervision.supervisor import Supervisor
    from gateway.configuration import Configuration

API_FIX = "choose another with --port PORT, [api] port or ONCEGATE_API_PORT"
# Developers want to see tables soon, so segments are sealed and uploaded while they are small.
SEAL_AFTER_DEVELOPMENT = "5s"

AsServicesOption = Annotated[
    bool,
    typer.Option(
        "--as-services",
        help="Run like the installed services, for a container: without the simulated board "
        "and the defaults for developers, and with all log lines on stdout.",
    ),
]


def up(
    config: ConfigOption = None,
    listen: ListenOption = None,
    port: PortOption = None,
    data_dir: DataDirOption = None,
    verbose: VerboseOption = False,
    as_services: AsServicesOption = False,
) -> None:
    """Run everything on this machine: broker, bridge, page, uploader. Ctrl-C stops it.

    If no serial port is configured, a simulated sensor board runs on a
    pseudo-terminal. All data is kept for the next start.

    Examples:

        oncegate up

        oncegate up --listen 127.0.0.1:1884 --port 8090 --data-dir /tmp/gateway
    """
    from gateway.configuration import gateway_id

    if as_services:
        # The children inherit this. A container engine keeps one log.
        os.dup2(sys.stdout.fileno(), sys.stderr.fileno())
    configuration = _with_free_ports(
        configuration_of(config, listen=listen, gateway__data_dir=data_dir, api__port=port)
    )
    gateway_id(configuration)
    read = configuration_of(config, gateway__data_dir=data_dir)
    environment = environment_of(configuration, os.environ, read, as_services=as_services)
    options = ["--config", str(file)] if (file := file_of(config)) is not None else []
    if verbose:
        options.append("--verbose")
    elif not as_services:
        options.append("--quiet")
    sys.exit(asyncio.run(_run(configuration, environment, options, as_services=as_services)))


def _with_free_ports(configuration: "Configuration") -> "Configuration":
    """Return the configuration with a free port in place of each port 0.

    All processes then use the same ports. Raises CommandFailed if a port is already in use.
    """
    from gateway.cli.running.ports import free_port

    listeners = []
    for listener in configuration.listeners:
        if listener.path is not None:
            listeners.append(listener)
            continue
        port = free_port(listener.bind, listener.port, what="the broker", fix=LISTENER_FIX)
        listeners.append(replace(listener, port=port))
    page = configuration.api
    port = free_port(page.listens_at, page.port, what="the page", fix=API_FIX)
    for name, tenant in configuration.tenants.items():
        for listener in (each for each in tenant.listeners if each.path is None):
            fix = f"choose another in [[tenants.{name}.listeners]]"
            free_port(listener.bind, listener.port, what=f"tenant {name}", fix=fix)
    return replace(configuration, listeners=tuple(listeners), api=replace(page, port=port))


def environment_of(
    configuration: "Configuration",
    around: Mapping[str, str],
    read: "Configuration | None" = None,
    *,
    as_services: bool = False,
) -> dict[str, str]:
    """Return the environment variables for the child processes.

    Args:
        configuration: the configuration that the children use, with the command line options.
        around: environment of this process, which the children inherit.
        read: the configuration that the children would read without further variables. If it
            already has the right page port, no variable is set for the port, because a variable
            would hide later changes in the file. The same applies to the listeners.
        as_services: False to add variables with the defaults for developers.
    """
    from gateway.configuration.description import table_of

    environment = dict(around)
    environment["ONCEGATE_GATEWAY_DATA_DIR"] = str(configuration.gateway.data_dir)
    if read is None or read.api.port != configuration.api.port:
        environment["ONCEGATE_API_PORT"] = str(configuration.api.port)
    if read is None or read.listeners != configuration.listeners:
        listeners = [table_of(each) for each in configuration.listeners]
        # TOML has no null, so keys without a value are left out.
        environment["ONCEGATE_LISTENERS"] = json.dumps(
            [{key: value for key, value in each.items() if value is not None} for each in listeners]
        )
    if as_services:
        return environment
    if "seal_after" not in configuration.session_log.given:
        environment["ONCEGATE_SESSION_LOG_SEAL_AFTER"] = SEAL_AFTER_DEVELOPMENT
    if not configuration.serial and configuration.admits_bridge:
        board = {"name": "board", "path": str(board_link(configuration)), "framing": "board"}
        environment["ONCEGATE_SERIAL"] = json.dumps([board])
    return environment


async def _run(
    configuration: "Configuration",
    environment: Mapping[str, str],
    options: Sequence[str],
    *,
    as_services: bool,
) -> int:
    from gateway.cli.supervision import core_build
    from gateway.cli.supervision.supervisor import ChildEnded, Supervisor

    stop = asyncio.Event()
    supervisor = Supervisor(environment, _print)
    _listen_to_signals(stop, supervisor)
    exit_code = EXIT_OK
    try:
        for child in children_of(configuration, options, as_services=as_services):
            await supervisor.start(child)
        if not stop.is_set():
            if as_services:
                _print_addresses(configuration)
            else:
                _print_overview(configuration)
                await core_build.build_until(stop, _print)
        await stop.wait()
        _print("stopping ...")
    except ChildEnded as error:
        _print(str(error))
        is_mistake = error.exit_code == EXIT_CONFIGURATION
        exit_code = EXIT_CONFIGURATION if is_mistake else EXIT_FAILED
    # The bridge stops first, so that the broker receives all messages. The uploader stops last, so
    # that the broker's last events are in a segment.
    tenants = (*configuration.tenants,)
    for name in ("bridge", "board", "uplink", "api", "broker", "upload"):
        await supervisor.stop(name, *(of_tenant(name, tenant) for tenant in tenants))
    if exit_code == EXIT_OK:
        _print("stopped; the next start continues from here")
    return exit_code


def _listen_to_signals(stop: asyncio.Event, supervisor: "Supervisor") -> None:
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            _print("stopping immediately; nothing that was acknowledged is lost")
            supervisor.kill()
        stop.set()

    loop.add_signal_handler(signal.SIGINT, on_signal)
    # Sent by a service manager, or when the terminal is closed.
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)


def _print_addresses(configuration: "Configuration") -> None:
    page = configuration.api
    places = ", ".join(each.place for each in configuration.listeners)
    _print(f"runs; the broker listens on {places}, the page on {page.listens_at} port {page.port}")
    if not any(each.is_reached_from_network for each in configuration.listeners):
        _print(
            "only this machine can reach the broker (in a container: only the container's "
            'network); bind = "0.0.0.0" and anonymous = false in [[listeners]], with [access] '
            "password_file, open it to others"
        )
    if not page.is_reached_from_network:
        _print(
            'only this machine can reach the page; [api] bind = "0.0.0.0" opens it to the network, '
            "for the users in [api] viewers"
        )


def _page_url_of(configuration: "Configuration") -> str:
    page = configuration.api
    host = f"[{page.listens_at}]" if ":" in page.listens_at else page.listens_at
    return f"{'http' if page.tls is None else 'https'}://{host}:{page.port}/"


def _print_overview(configuration: "Configuration") -> None:
    from rich.console import Console
    from rich.markup import escape

    data_dir = configuration.gateway.data_dir
    command = escape(_command())
    at_data_dir = "" if data_dir == Path("./var") else f" --data-dir {shlex.quote(str(data_dir))}"
    console = Console(highlight=False, soft_wrap=True)
    console.print("\n[bold green]Oncegate runs.[/] Ctrl-C stops it.\n")
    for name, value in (
        ("page", _page_url_of(configuration)),
        ("readings", subscribing_command(configuration) or "no listener for plain MQTT"),
        ("status", f"{command} ctl status{escape(at_data_dir)}"),
        ("tables", f"{command} ingest{escape(at_data_dir)}"),
        ("data", escape(str(data_dir))),
    ):
        console.print(f"  {name:<9} [cyan]{value}[/]")
    if not configuration.serial and configuration.admits_bridge:
        link = escape(str(board_link(configuration)))
        nothing = escape("No [[serial]] port is configured")
        console.print(f"\n  {nothing}: a simulated board speaks on {link}.")
    console.print()


def subscribing_command(configuration: "Configuration") -> str | None:
    """Return a shell command that subscribes to the readings.

    If possible, the command connects to a listener that needs no password.
    Return None if no listener accepts plain MQTT over TCP.
    """
    if not configuration.reaches_broker:
        return None
    plain = [listener for listener in configuration.listeners if listener.is_plain]
    if configuration.bridge.broker is not None:
        (host, port), asks = configuration.broker_address, configuration.bridge.username is not None
    else:
        chosen = next((each for each in plain if each.anonymous), plain[0])
        (host, port), asks = chosen.address, not chosen.anonymous
    user = " -u USER -P PASSWORD" if asks else ""
    return f"mosquitto_sub -h {host} -p {port}{user} -t 'sensors/#' -v"


def _command() -> str:
    """Return the command with which the user can run `oncegate` in this terminal."""
    called = Path(sys.argv[0])
    if called.name != "oncegate":
        return "oncegate"
    absolute = called.absolute()
    try:
        return str(absolute.relative_to(Path.cwd()))
    except ValueError:
        return str(called)


def _print(line: str) -> None:
    try:
        print(f"oncegate: {line}", file=sys.stderr, flush=True)
    except OSError:
        # The terminal is gone; stopping cleanly is more important than writing a line.
        return
