"""Tables of what the broker says about itself, for a terminal.

Names in an answer (client ids, topics) come from clients: they are shown as text, never as
markup, and control characters as escapes.
"""

import time
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Answer = dict[str, Any]


def status_table(answer: Answer) -> RenderableType:
    """The `status` answer as two columns, warnings first."""
    table = Table(box=box.SIMPLE, show_header=False, title_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for warning in answer.get("warnings", []):
        table.add_row(Text("warning", style="yellow"), Text(_text(warning), style="yellow"))
    connections, sessions = _part(answer, "connections"), _part(answer, "sessions")
    messages, queued = _part(answer, "messages"), _part(answer, "queued")
    journal, store = _part(answer, "journal"), _part(answer, "store")
    for name, value in (
        ("gateway", f"{_text(answer.get('gateway'))}, version {_text(answer.get('version'))}"),
        ("state", f"{_text(answer.get('state'))}, up {_duration(answer.get('uptime_seconds'))}"),
        ("listeners", ", ".join(_listener(door) for door in answer.get("listeners", []))),
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
        ("store", " ".join(_text(value) for value in store.values() if value is not None)),
    ):
        table.add_row(name, Text(value))
    return table


def sessions_table(answer: Answer) -> RenderableType:
    """The `sessions` answer, one line a session."""
    table = Table(box=box.SIMPLE)
    for heading in ("client id", "connected", "session", "address"):
        table.add_column(heading, overflow="fold")
    for heading in ("in flight", "awaiting", "queued", "dropped", "received", "delivered"):
        table.add_column(heading, justify="right")
    for session in answer["sessions"]:
        connected = bool(session.get("connected"))
        table.add_row(
            Text(_text(session.get("client_id"))),
            Text("yes" if connected else "no", style="green" if connected else "dim"),
            "clean" if session.get("clean") else "persistent",
            Text(_text(session.get("address") or "-")),
            *(
                str(session.get(key, "-"))
                for key in (
                    "inflight",
                    "awaiting_release",
                    "queued_messages",
                    "dropped_messages",
                    "received_messages",
                    "delivered_messages",
                )
            ),
        )
    if answer.get("next") is not None:
        table.caption = "there are more: --limit"
    return table


def session_tables(answer: Answer) -> RenderableType:
    """The `session` answer: its facts, its subscriptions, what is in flight."""
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
    return ", ".join(f"{name.replace('_', ' ')} {_text(value)}" for name, value in values.items())


def _listener(door: Answer) -> str:
    return f"{_text(door.get('protocol'))} {_text(door.get('bind'))}:{_text(door.get('port'))}"


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
