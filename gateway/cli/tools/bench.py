"""`oncegate bench`: a load generator for any MQTT broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from gateway.cli.common.broker_login import password_of
from gateway.cli.common.failures import EXIT_USAGE, EXIT_VIOLATION, CommandFailed
from gateway.cli.common.options import ConfigOption, configuration_of
from gateway.cli.common.output import show
from gateway.cli.tools.bench_options import (
    AuthoritiesOption,
    AwayOption,
    BrokerPidOption,
    CountOption,
    DiskOption,
    DurationOption,
    HostOption,
    JsonFileOption,
    JsonOption,
    MqttOption,
    OutstandingOption,
    PairsOption,
    PasswordFileOption,
    PatienceOption,
    PersistentOption,
    PlotFileOption,
    PortOption,
    PublishersOption,
    QosOption,
    RateOption,
    SizeOption,
    SpinOption,
    SubscribersOption,
    TopicOption,
    UsernameOption,
    WarmUpOption,
    WindowOption,
)
from gateway.process.files.disk_errors import line_of

if TYPE_CHECKING:
    from gateway.tools.bench.result import Reading, Result
    from gateway.tools.bench.scenario import Scenario

VERSIONS = {"3.1.1": 4, "5.0": 5}


def bench(
    host: HostOption = None,
    port: PortOption = None,
    cafile: AuthoritiesOption = None,
    mqtt: MqttOption = "3.1.1",
    username: UsernameOption = None,
    password_file: PasswordFileOption = None,
    topic: TopicOption = "bench",
    config: ConfigOption = None,
    publishers: PublishersOption = 1,
    subscribers: SubscribersOption = 1,
    pairs: PairsOption = False,
    persistent: PersistentOption = False,
    away: AwayOption = False,
    qos: QosOption = 0,
    size: SizeOption = 64,
    window: WindowOption = 20,
    rate: RateOption = None,
    outstanding: OutstandingOption = None,
    spin: SpinOption = False,
    warm_up: WarmUpOption = 1.0,
    duration: DurationOption = 10.0,
    count: CountOption = None,
    patience: PatienceOption = 10.0,
    broker_pid: BrokerPidOption = None,
    disk: DiskOption = None,
    as_json: JsonOption = False,
    json_file: JsonFileOption = None,
    plot_file: PlotFileOption = None,
) -> None:
    """Load a broker with messages, and verify that they all arrive.

    Lost, duplicated, changed and reordered messages are counted. If there are
    any, the exit code is 3. With --rate, the latency of a message is measured
    from the time at which the message was due to be sent.

    Examples:

        oncegate bench

        oncegate bench --publishers 10 --subscribers 10 --pairs --qos 2 --window 100 --persistent

        oncegate bench --host broker.example --port 1883 --mqtt 5.0 --qos 1 --rate 5000 --json
    """
    if mqtt not in VERSIONS:
        raise _mistake(f"--mqtt {mqtt}: expected 3.1.1 or 5.0")
    if plot_file is not None and plot_file.suffix != ".svg":
        raise _mistake(f"--plot {plot_file}: expected a name that ends in .svg")
    password = password_of(password_file, "--password-file")
    if host is None or port is None:
        ours = _own_address_of(config)
        host, port = host or ours[0], port or ours[1]

    from gateway.tools.bench.scenario import Scenario, ScenarioMistake

    try:
        scenario = Scenario(
            host=host,
            port=port,
            authorities=None if cafile is None else str(cafile),
            version=VERSIONS[mqtt],
            publishers=publishers,
            subscribers=subscribers,
            shape="pairs" if pairs else "all",
            qos=qos,
            payload_bytes=size,
            window=window,
            outstanding=outstanding,
            persistent=persistent,
            away=away,
            spin=spin,
            rate=rate,
            warm_up_seconds=warm_up,
            duration_seconds=duration,
            count=count,
            patience_seconds=patience,
            topic_prefix=topic,
            username=username,
            password=None if password is None else password.encode(),
        )
    except ScenarioMistake as mistake:
        raise _mistake(str(mistake)) from None
    from gateway.cli.tools.bench_table import table_of

    fsync_ms, result = _measure(scenario, broker_pid, disk)
    answer = result.as_json() | {"fsync_ms": fsync_ms}
    show(answer, lambda _: table_of(result, fsync_ms), as_json=as_json)
    _write(result, answer, json_file=json_file, plot_file=plot_file)
    if not result.is_clean:
        raise typer.Exit(EXIT_VIOLATION)


def _own_address_of(config: Path | None) -> tuple[str, int]:
    """Return the address of the broker to which this gateway's bridge connects.

    By default, this is the gateway's own broker. Raises CommandFailed if that broker has no
    listener for plain MQTT.
    """
    configuration = configuration_of(config)
    if not configuration.reaches_broker:
        raise _mistake("no listener without TLS is configured: give --host and --port")
    return configuration.broker_address


def _line_of(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"{line_of(error)}: is the broker running? Name it with --host and --port"
    return line_of(error)


def _mistake(what: str) -> CommandFailed:
    """Return the error for an invalid option. `what` describes the mistake."""
    return CommandFailed(f"oncegate bench: {what}", exit_code=EXIT_USAGE)


def _measure(
    scenario: "Scenario", broker_pid: int | None, disk: Path | None
) -> tuple[dict[str, float], "Result"]:
    """Run a scenario and show its progress. Return the fsync times and the result of the run.

    The fsync times are a dictionary from percentile names to milliseconds, which is empty if `disk`
    is None. Raises CommandFailed if the run fails.
    """
    from rich.console import Console
    from rich.live import Live

    from gateway.tools.bench.connection import BenchFailed
    from gateway.tools.bench.fsync_probe import fsync_percentiles_ms
    from gateway.tools.bench.processes import usage_of
    from gateway.tools.bench.result import rate_of
    from gateway.tools.bench.run import run

    # Redraw only on request: a drawing thread would disturb the measurement.
    live = Live(console=Console(stderr=True, highlight=False), auto_refresh=False, transient=True)
    last: list[Reading] = []

    def show(phase: str, reading: "Reading") -> None:
        rate = f": {rate_of(last[0], reading):,.0f} messages/s" if last else ""
        live.update(phase + rate, refresh=live.console.is_terminal)
        last[:] = [reading]

    try:
        if broker_pid is not None:
            usage_of(broker_pid)
        fsync_ms = {} if disk is None else fsync_percentiles_ms(disk)
        with live:
            return fsync_ms, run(scenario, broker_pid=broker_pid, progress=show)
    except ProcessLookupError as error:
        raise CommandFailed(f"oncegate bench: --broker-pid {broker_pid}: {error}") from None
    except BenchFailed as error:
        raise CommandFailed(f"oncegate bench: {line_of(error)}") from error
    except OSError as error:
        place = f"{scenario.host} port {scenario.port}"
        raise CommandFailed(f"oncegate bench: {place}: {_line_of(error)}") from error


def _write(
    result: "Result",
    answer: dict[str, Any],
    *,
    json_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Write the result to the requested files: `answer` as JSON, and `result` as an SVG plot.

    Raises OSError if a file cannot be written.
    """
    import json

    from gateway.cli.tools.bench_table import title_of
    from gateway.tools.bench.plot import svg_of

    if json_file is not None:
        json_file.write_text(json.dumps(answer, indent=1) + "\n")
    if plot_file is not None:
        plot_file.write_text(svg_of(result, title_of(result.scenario)))
