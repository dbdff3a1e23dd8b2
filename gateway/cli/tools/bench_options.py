"""Options of `oncegate bench`, grouped as in the command's help text."""

from pathlib import Path
from typing import Annotated

import typer

_WHERE, _WHO, _HOW, _RESULT = "Where", "Who", "How much", "Result"

HostOption = Annotated[
    str | None,
    typer.Option(
        "--host", help="Host of the broker. Default: this gateway's broker.", rich_help_panel=_WHERE
    ),
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port", min=1, max=65535, help="TCP port of the broker.", rich_help_panel=_WHERE
    ),
]
AuthoritiesOption = Annotated[
    Path | None,
    typer.Option(
        "--cafile",
        metavar="FILE",
        help="Use TLS, and trust the certificate authorities in this file.",
        rich_help_panel=_WHERE,
    ),
]
MqttOption = Annotated[
    str, typer.Option("--mqtt", help="MQTT version: 3.1.1 or 5.0.", rich_help_panel=_WHERE)
]
UsernameOption = Annotated[
    str | None, typer.Option("--username", help="User name at the broker.", rich_help_panel=_WHERE)
]
PasswordFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File whose first line is the password.", rich_help_panel=_WHERE
    ),
]
TopicOption = Annotated[
    str, typer.Option("--topic", help="Prefix of all topics.", rich_help_panel=_WHERE)
]
PublishersOption = Annotated[
    int, typer.Option("--publishers", help="Number of publishers.", rich_help_panel=_WHO)
]
SubscribersOption = Annotated[
    int, typer.Option("--subscribers", help="Number of subscribers.", rich_help_panel=_WHO)
]
PairsOption = Annotated[
    bool,
    typer.Option(
        "--pairs",
        help="Send from publisher i to subscriber i, instead of from every publisher to "
        "every subscriber.",
        rich_help_panel=_WHO,
    ),
]
PersistentOption = Annotated[
    bool,
    typer.Option(
        "--persistent",
        help="Use persistent sessions, which outlive their connections. They are deleted "
        "afterwards.",
        rich_help_panel=_WHO,
    ),
]
AwayOption = Annotated[
    bool,
    typer.Option(
        "--away",
        help="Disconnect the subscribers, but keep their persistent sessions. With --count, "
        "they reconnect when all messages are sent, to measure how fast queues are "
        "delivered. Without --count, measure how fast messages are published to full "
        "queues.",
        rich_help_panel=_WHO,
    ),
]
QosOption = Annotated[int, typer.Option("--qos", help="QoS: 0, 1 or 2.", rich_help_panel=_HOW)]
SizeOption = Annotated[
    int, typer.Option("--size", help="Size of each payload in bytes.", rich_help_panel=_HOW)
]
WindowOption = Annotated[
    int,
    typer.Option(
        "--window",
        help="Maximum number of unacknowledged QoS 1 or 2 messages per publisher.",
        rich_help_panel=_HOW,
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option(
        "--rate",
        help="Messages per second, from all publishers together. Default: as fast as possible.",
        rich_help_panel=_HOW,
    ),
]
SpinOption = Annotated[
    bool,
    typer.Option(
        "--spin",
        help="Never sleep, so that latencies do not include the wake-up times of this "
        "program. Uses a whole core.",
        rich_help_panel=_HOW,
    ),
]
OutstandingOption = Annotated[
    int | None,
    typer.Option(
        "--outstanding",
        help="Without --rate: maximum number of messages per publisher that have not "
        "arrived yet. Default: few enough that no broker drops any.",
        rich_help_panel=_HOW,
    ),
]
WarmUpOption = Annotated[
    float,
    typer.Option("--warm-up", help="Seconds before the measurement begins.", rich_help_panel=_HOW),
]
DurationOption = Annotated[
    float, typer.Option("--duration", help="Seconds that are measured.", rich_help_panel=_HOW)
]
CountOption = Annotated[
    int | None,
    typer.Option(
        "--count",
        help="Number of messages per publisher, instead of a duration.",
        rich_help_panel=_HOW,
    ),
]
PatienceOption = Annotated[
    float,
    typer.Option(
        "--patience",
        help="Seconds without progress after which missing messages count as lost.",
        rich_help_panel=_HOW,
    ),
]
BrokerPidOption = Annotated[
    int | None,
    typer.Option(
        "--broker-pid",
        help="Process id of the broker on this machine, to measure its CPU time, memory and "
        "disk writes.",
        rich_help_panel=_RESULT,
    ),
]
DiskOption = Annotated[
    Path | None,
    typer.Option(
        "--disk",
        metavar="DIR",
        help="Also measure fsync in this directory, for comparison with the latencies.",
        rich_help_panel=_RESULT,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object instead of the table (docs/commands.md).",
        rich_help_panel=_RESULT,
    ),
]
JsonFileOption = Annotated[
    Path | None,
    typer.Option(
        "--json-file",
        metavar="FILE",
        help="Also write the JSON object to this file.",
        rich_help_panel=_RESULT,
    ),
]
PlotFileOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE.svg",
        help="Also write a plot of the result to this file.",
        rich_help_panel=_RESULT,
    ),
]
