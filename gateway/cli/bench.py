"""`oncegate bench`: a load generator for any MQTT broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.failures import CommandFailed, line_of

if TYPE_CHECKING:
    from gateway.bench.result import Reading

VERSIONS = {"3.1.1": 4, "5.0": 5, "5": 5}


def bench(
    host: Annotated[str, typer.Option("--host", "-h", help="The broker's host.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", help="Its port.", min=1, max=65535)] = 1883,
    mqtt: Annotated[str, typer.Option("--mqtt", help="Protocol: 3.1.1 or 5.0.")] = "3.1.1",
    publishers: Annotated[int, typer.Option("--publishers", help="Clients that publish.")] = 1,
    subscribers: Annotated[int, typer.Option("--subscribers", help="Clients that receive.")] = 1,
    shape: Annotated[
        str, typer.Option("--shape", help="pairs: one to one. all: everybody receives everything.")
    ] = "all",
    qos: Annotated[int, typer.Option("--qos", "-q", help="0, 1 or 2.")] = 0,
    size: Annotated[int, typer.Option("--size", help="Bytes of a payload.")] = 64,
    window: Annotated[
        int, typer.Option("--window", help="Unacknowledged QoS 1 or 2 messages of one publisher.")
    ] = 20,
    outstanding: Annotated[
        int | None,
        typer.Option(
            "--outstanding",
            help="QoS 0 messages of one publisher under way. Default: 512 KiB to a subscriber.",
        ),
    ] = None,
    persistent: Annotated[
        bool, typer.Option("--persistent", help="Sessions that outlive their connection.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option("--rate", help="Messages/s of all together. Default: as fast as possible."),
    ] = None,
    warm_up: Annotated[float, typer.Option("--warm-up", help="Seconds before the clock.")] = 1.0,
    duration: Annotated[float, typer.Option("--duration", help="Seconds that count.")] = 10.0,
    count: Annotated[
        int | None, typer.Option("--count", help="Messages of each publisher, no fixed time.")
    ] = None,
    broker_pid: Annotated[
        int | None,
        typer.Option("--broker-pid", help="The broker's process: its CPU, memory, disk writes."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result; - is stdout.")
    ] = None,
) -> None:
    """Load a broker with messages, and count what comes out at the other end.

    Every message is verified at the subscriber: losses, repeats, disorder and changes are counted,
    and make the exit code 1.

    Examples:

        oncegate bench

        oncegate bench --publishers 10 --subscribers 10 --shape pairs --qos 2 --window 100

        oncegate bench --host broker.example --mqtt 5.0 --qos 1 --rate 5000 --json result.json
    """
    import json

    from rich.console import Console
    from rich.status import Status

    from gateway.bench.connection import BenchFailed
    from gateway.bench.run import run
    from gateway.bench.scenario import Scenario, ScenarioMistake
    from gateway.cli.bench_table import line_of_progress, table_of

    if mqtt not in VERSIONS or shape not in ("pairs", "all"):
        raise CommandFailed(
            f"oncegate bench: --mqtt {mqtt} --shape {shape}: expected 3.1.1 or 5.0, pairs or all",
            exit_code=2,
        )
    try:
        scenario = Scenario(
            host=host,
            port=port,
            version=VERSIONS[mqtt],
            publishers=publishers,
            subscribers=subscribers,
            shape="pairs" if shape == "pairs" else "all",
            qos=qos,
            payload_bytes=size,
            window=window,
            outstanding=outstanding,
            persistent=persistent,
            rate=rate,
            warm_up_seconds=warm_up,
            duration_seconds=duration,
            count=count,
        )
    except ScenarioMistake as mistake:
        raise CommandFailed(f"oncegate bench: {mistake}", exit_code=2) from None
    shown = Console(stderr=True, highlight=False)
    with Status("connecting", console=shown) as status:
        last: list[Reading] = []

        def progress(phase: str, reading: "Reading") -> None:
            status.update(line_of_progress(phase, last[0] if last else reading, reading))
            last[:] = [reading]

        try:
            result = run(scenario, broker_pid=broker_pid, progress=progress)
        except (BenchFailed, OSError) as error:
            raise CommandFailed(f"oncegate bench: {host}:{port}: {line_of(error)}") from error
    text = json.dumps(result.as_json(), indent=2)
    if json_file == Path("-"):
        print(text)
    else:
        Console(highlight=False).print(table_of(result))
        if json_file is not None:
            json_file.write_text(text + "\n")
    if not result.is_clean:
        raise typer.Exit(1)
