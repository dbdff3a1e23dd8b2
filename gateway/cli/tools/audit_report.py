"""Terminal output of an audit: first the verdict, then advice on what to do.

Client ids are chosen by clients, so they are printed as text, never as markup.
"""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.cli.common.output import counted

EXCEPTIONS_SHOWN_MAX = 50
"""Maximum number of exceptions shown. More would not help a person, and `--json` lists all."""

SIGNERS_SHOWN_MAX = 20
"""Maximum number of signers (pairs of gateway and key) shown. A site has few."""

_MEANING = {
    "ok": ("OK", "bold green", "Every message in this log is accounted for."),
    "violation": (
        "VIOLATION",
        "bold red",
        (
            "The log contradicts itself or the database: a message was lost, doubled or misnamed. "
            "Keep a copy of the data directory and of the segments named, and report it with them."
        ),
    ),
    "inconclusive": (
        "INCONCLUSIVE",
        "bold yellow",
        (
            "Nothing contradicts the promise, but not everything can be proven, because something "
            "is missing. The lines below show what is missing, and where it may be found."
        ),
    ),
}

_COUNTS = (
    ("log", (("segments", "segments"), ("events", "events"))),
    ("received", (("held", "held once (QoS 2)"), ("duplicates_suppressed", "repeats suppressed"),
                  ("published", "not held (QoS 0 and 1, wills, clean sessions)"))),
    ("of those held", (("released", "released"), ("abandoned", "abandoned"),
                       ("held_at_session_end", "ended with their session"),
                       ("held_open", "still held"))),
    ("matched", (("entries", "entries of persistent sessions"),
                 ("late_entries", "of them later (retained, handed on)"),
                 ("unrecorded", "without a record (clean sessions, QoS 0)"))),
    ("of the entries", (("completed", "delivered"), ("refused", "refused by the client"),
                        ("dropped", "dropped"), ("expired", "expired"),
                        ("ended", "ended with their session"), ("queued_open", "still queued"),
                        ("in_flight_open", "in flight"))),
)  # fmt: skip


def render(result: dict[str, Any]) -> RenderableType:
    """Render an audit's result for the terminal. `result` is the audit's JSON output."""
    word, style, meaning = _MEANING[result["verdict"]]
    if not result["counts"]["events"]:
        meaning = "There are no events to judge: is this the right directory?"
    headline = Text.assemble((word, style), f"  {result['source']}")
    parts: list[RenderableType] = [headline, Text(meaning), _counts(result["counts"])]
    if result.get("signatures"):
        parts.append(_signatures(result["signatures"]))
    if result["exceptions"]:
        parts.append(_exceptions(result))
    return Group(*parts, Text(f"{result['seconds']:.1f} s", "dim"))


def _counts(counts: dict[str, int]) -> Table:
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for group, rows in _COUNTS:
        name = group
        for key, label in rows:
            count = counts.get(key, 0)  # the audit of tables omits some counts
            if count or key in ("events", "held", "released", "entries", "completed"):
                table.add_row(name, f"{count:,}", label)
                name = ""
    return table


def _signatures(signatures: list[dict[str, Any]]) -> Table:
    """Return a table of the signing keys: gateway, public key, and count of signed segments."""
    table = Table(title="Signed by", title_justify="left", title_style="bold", box=box.SIMPLE)
    table.add_column("gateway", overflow="fold")
    table.add_column("key", overflow="fold")
    table.add_column("segments", justify="right")
    for one in signatures[:SIGNERS_SHOWN_MAX]:
        key = one["public_key"]
        shown = Text("unsigned", "yellow") if key is None else Text(key)
        table.add_row(Text(_printable(one["gateway"])), shown, f"{one['segments']:,}")
    if len(signatures) > SIGNERS_SHOWN_MAX:
        table.caption = f"{len(signatures) - SIGNERS_SHOWN_MAX:,} more are not shown: --json"
    return table


def _exceptions(result: dict[str, Any]) -> Table:
    total = result["violations"] + result["inconclusive"]
    title = f"{counted(result['violations'], 'violation')}, {result['inconclusive']:,} inconclusive"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE)
    table.add_column("check", no_wrap=True)
    table.add_column("message", justify="right", no_wrap=True)
    table.add_column("session", overflow="fold", max_width=20)
    table.add_column("sequence", justify="right", overflow="fold")
    table.add_column("what, and in which segment", overflow="fold", min_width=24)
    ordered = sorted(result["exceptions"], key=lambda one: one["verdict"] != "violation")
    for one in ordered[:EXCEPTIONS_SHOWN_MAX]:
        session = "" if one["session"] is None else f"{one['session']} {one['client_id']}"
        table.add_row(
            Text(one["check"], "red" if one["verdict"] == "violation" else "yellow"),
            "" if one["message"] is None else str(one["message"]),
            Text(_printable(session)),
            "-".join(str(number) for number in one["sequences"]),
            Text.assemble(_printable(one["detail"]), (f"\n{one['segment'] or ''}", "dim")),
        )
    if total > EXCEPTIONS_SHOWN_MAX:
        table.caption = f"{total - EXCEPTIONS_SHOWN_MAX:,} more are not shown: --json"
    return table


def _printable(text: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
