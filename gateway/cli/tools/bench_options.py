"""Options of `oncegate bench`, grouped as in its help."""

from pathlib import Path
from typing import Annotated

import typer

_WHERE, _WHO, _HOW, _RESULT = "Where", "Who", "How much", "Result"

HostOption = Annotated[
    str | None,
    typer.Option("--host", help="The broker. Default: ours.", rich_help_panel=_WHERE),
]
PortOption = Annotated[int | None, typer.Option("--port", min=1, max=65535, rich_help_panel=_WHERE)]
AuthoritiesOption = Annotated[
    Path | None,
    typer.Option(
        "--cafile",
        metavar="FILE",
        help="Speak TLS, and trust the authorities in this file.",
        rich_help_panel=_WHERE,
    ),
]
MqttOption = Annotated[str, typer.Option("--mqtt", help="3.1.1 or 5.0.", rich_help_panel=_WHERE)]
UsernameOption = Annotated[str | None, typer.Option("--username", rich_help_panel=_WHERE)]
PasswordFileOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="One line: the password.", rich_help_panel=_WHERE),
]
TopicOption = Annotated[
    str, typer.Option("--topic", help="What topics begin with.", rich_help_panel=_WHERE)
]
PublishersOption = Annotated[int, typer.Option("--publishers", rich_help_panel=_WHO)]
SubscribersOption = Annotated[int, typer.Option("--subscribers", rich_help_panel=_WHO)]
PairsOption = Annotated[
    bool,
    typer.Option(
        "--pairs",
        help="Publisher i sends to subscriber i, instead of every publisher to every subscriber.",
        rich_help_panel=_WHO,
    ),
]
PersistentOption = Annotated[
    bool,
    typer.Option(
        "--persistent",
        help="Sessions that outlive their connection. They are ended afterwards.",
        rich_help_panel=_WHO,
    ),
]
AwayOption = Annotated[
    bool,
    typer.Option(
        "--away",
        help="Subscribers leave persistent sessions behind. With --count they come back when all "
        "was sent: how fast do their queues come? Else: how fast are full queues published to?",
        rich_help_panel=_WHO,
    ),
]
QosOption = Annotated[int, typer.Option("--qos", help="0, 1 or 2.", rich_help_panel=_HOW)]
SizeOption = Annotated[
    int, typer.Option("--size", help="Bytes of a payload.", rich_help_panel=_HOW)
]
WindowOption = Annotated[
    int,
    typer.Option(
        "--window",
        help="Unacknowledged QoS 1 or 2 messages of one publisher.",
        rich_help_panel=_HOW,
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option(
        "--rate",
        help="Messages/s of all publishers. Default: as fast as possible.",
        rich_help_panel=_HOW,
    ),
]
SpinOption = Annotated[
    bool,
    typer.Option(
        "--spin",
        help="Never sleep, so that latencies do not include wake-ups here. Uses a core.",
        rich_help_panel=_HOW,
    ),
]
OutstandingOption = Annotated[
    int | None,
    typer.Option(
        "--outstanding",
        help="Without a rate: messages of one publisher that have not come yet. "
        "Default: as many as no broker drops.",
        rich_help_panel=_HOW,
    ),
]
WarmUpOption = Annotated[
    float,
    typer.Option("--warm-up", help="Seconds that do not count yet.", rich_help_panel=_HOW),
]
DurationOption = Annotated[
    float, typer.Option("--duration", help="Seconds that count.", rich_help_panel=_HOW)
]
CountOption = Annotated[
    int | None,
    typer.Option(
        "--count",
        help="Messages of each publisher, instead of a duration.",
        rich_help_panel=_HOW,
    ),
]
PatienceOption = Annotated[
    float,
    typer.Option(
        "--patience",
        help="Seconds without movement, then what is missing is lost.",
        rich_help_panel=_HOW,
    ),
]
BrokerPidOption = Annotated[
    int | None,
    typer.Option(
        "--broker-pid",
        help="The broker's process on this machine: its CPU, memory and disk writes.",
        rich_help_panel=_RESULT,
    ),
]
DiskOption = Annotated[
    Path | None,
    typer.Option(
        "--disk",
        metavar="DIR",
        help="Measure an fsync there as well, to hold latencies against.",
        rich_help_panel=_RESULT,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object instead of the table: docs/commands.md.",
        rich_help_panel=_RESULT,
    ),
]
JsonFileOption = Annotated[
    Path | None,
    typer.Option(
        "--json-file",
        metavar="FILE",
        help="Write the JSON object into a file as well.",
        rich_help_panel=_RESULT,
    ),
]
PlotFileOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE.svg", help="A picture.", rich_help_panel=_RESULT),
]
