"""Terminal tables that show the broker's state.

Client ids and topics are chosen by clients. They are therefore printed as text, never as markup,
with control characters escaped.
"""

import time
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.broker.core.takeovers import host_of

Answer = dict[str, Any]


def status_table(answer: Answer) -> RenderableType:
    """Return the response to the command `status` as a two-column table, with warnings first."""
    table = Table(box=box.SIMPLE, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for warning in answer.get("warnings", []):
        text = f"{_text(warning.get('sentence'))} {_text(warning.get('fix'))}"
        table.add_row(Text("warning", style="yellow"), Text(text, style="yellow"))
    connections, sessions = _part(answer, "connections"), _part(answer, "sessions")
    messages, queued = _part(answer, "messages"), _part(answer, "queued")
    journal, store = _part(answer, "journal"), _part(answer, "store")
    for name, value in (
        ("gateway", f"{_text(answer.get('gateway'))}, version {_text(answer.get('version'))}"),
        ("state", f"{_text(answer.get('state'))}, up {_duration(answer.get('uptime_seconds'))}"),
        ("clock", _clock(answer)),
        ("listeners", ", ".join(_listener(each) for each in answer.get("listeners", []))),
        ("connections", _pairs(connections)),
        ("sessions", _pairs(sessions)),
        ("subscriptions", f"{answer.get('subscriptions')}, retained {answer.get('retained')}"),
        ("received", _pairs(_part(messages, "received"))),
        ("sent", _pairs(_part(messages, "sent"))),
        ("dropped", _pairs(_part(messages, "dropped"))),
        ("duplicates", f"{messages.get('duplicates_suppressed', 0)} suppressed"),
        ("queued", _pairs(queued)),
        ("in flight", f"{answer.get('inflight')}, awaiting {answer.get('awaiting_release')}"),
        ("errors", _pairs(_part(answer, "errors"))),
        ("journal", _pairs(journal)),
        ("disk", _disk(_part(answer, "disk"))),
        ("store", " ".join(_text(value) for value in store.values() if value is not None)),
    ):
        table.add_row(name, Text(value))
    return table


def _clock(answer: Answer) -> str:
    seconds = answer.get("time_ms", 0) / 1000
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
    return f"{when}, {_text(answer.get('clock', 'unknown'))}"


def _disk(disk: Answer) -> str:
    if not disk.get("total_bytes"):
        return "unknown"
    mib = 1 << 20
    free = f"{disk['free_bytes'] // mib} MiB of {disk['total_bytes'] // mib} free"
    return f"{free}; full: no new messages are accepted" if disk.get("full") else free


# The headings are narrow, so that a table fits into 80 columns.
_SESSION_NUMBERS = {
    "flight": "inflight",
    "held": "awaiting_release",
    "queued": "queued_messages",
    "lost": "dropped_messages",
    "in": "received_messages",
    "out": "delivered_messages",
}


def sessions_table(answer: Answer) -> RenderableType:
    """Return the response to the command `sessions` as a table with one line per session.

    The table has at most 80 columns. The states are `on` (connected), `away` (not connected), and
    `clean` (connected, and the session ends with the connection).
    """
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("client id", overflow="fold", min_width=14)
    table.add_column("state", no_wrap=True)
    table.add_column("address", overflow="fold", min_width=15)
    for heading in _SESSION_NUMBERS:
        table.add_column(heading, justify="right", no_wrap=True)
    for session in answer["sessions"]:
        connected = bool(session.get("connected"))
        state = ("clean" if session.get("clean") else "on") if connected else "away"
        table.add_row(
            Text(_text(session.get("client_id"))),
            Text(state, style="green" if connected else "dim"),
            Text(host_of(_text(session.get("address") or "-"))),
            *(_short(session.get(key, "-")) for key in _SESSION_NUMBERS.values()),
        )
    if answer.get("next") is not None:
        table.caption = "more sessions exist: raise --limit"
    return table


def _short(number: object) -> str:
    """Return a count in at most five characters, such as 99999, 123k, 1.2M or 1.2G."""
    if not isinstance(number, int) or number < 100_000:
        return str(number)
    unit, size = next((unit, size) for unit, size in _UNITS if number >= size)
    share = number / size
    return f"{share:.1f}{unit}" if share < 100 else f"{share:.0f}{unit}"


_UNITS = (("G", 10**9), ("M", 10**6), ("k", 1_000))


def session_tables(answer: Answer) -> RenderableType:
    """Return the response to the command `session` as several tables.

    The tables contain the session's properties, subscriptions, and messages in flight.
    """
    facts = Table(box=box.SIMPLE, show_header=False)
    for name, value in answer.items():
        if name not in ("subscriptions", "inflight"):
            facts.add_row(Text(name.replace("_", " "), style="bold"), Text(_text(value)))
    return Group(
        facts,
        _rows("subscriptions", ("filter", "qos"), answer.get("subscriptions", [])),
        _rows("in flight", ("packet_id", "message", "qos", "state"), answer.get("inflight", [])),
    )


def _rows(title: str, columns: tuple[str, ...], rows: object) -> Table:
    table = Table(*columns, box=box.SIMPLE, title=title, title_justify="left")
    for row in rows if isinstance(rows, list) else []:
        table.add_row(*(Text(_text(row.get(column))) for column in columns))
    return table


def _part(answer: Answer, name: str) -> Answer:
    value = answer.get(name)
    return value if isinstance(value, dict) else {}


def _pairs(values: Answer) -> str:
    """Format a mapping as one line of names and values, such as `sent 3, received 5`.

    Nested values are omitted.
    """
    simple = {name: each for name, each in values.items() if not isinstance(each, dict | list)}
    pairs = (f"{name.replace('_', ' ')} {_text(value)}" for name, value in simple.items())
    return ", ".join(pairs) or "-"


def _listener(listener: Answer) -> str:
    path = _text(listener.get("path") or "")
    bind = _text(listener.get("bind") or "")
    host = f"[{bind}]" if ":" in bind else bind
    network = f"{host}:{_text(listener.get('port'))}" if bind else ""
    days = _part(listener, "certificate").get("days_left")
    certificate = f" (certificate for {days} days)" if isinstance(days, int) else ""
    return f"{_text(listener.get('protocol'))} {network}{path}{certificate}"


def _duration(seconds: object) -> str:
    if not isinstance(seconds, int | float):
        return "?"
    days, rest = divmod(int(seconds), 86_400)
    return f"{days} d {time.strftime('%H:%M:%S', time.gmtime(rest))}"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in str(value)
    )
