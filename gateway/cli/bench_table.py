"""What a run of the load generator says, for a terminal."""

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gateway.bench.result import Reading, Result


def line_of_progress(phase: str, before: Reading, now: Reading) -> str:
    """One line while it runs: the rate since the last one."""
    seconds = now.seconds - before.seconds
    if seconds <= 0:
        return phase
    rate = (now.received - before.received or now.completed - before.completed) / seconds
    return f"{phase}: {rate:,.0f} messages/s"


def table_of(result: Result) -> RenderableType:
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    seconds = result.seconds
    table.add_row("sent", f"{result.sent / seconds:,.0f} messages/s")
    if result.scenario.subscribers:
        table.add_row("received", f"{result.received / seconds:,.0f} messages/s")
    if result.scenario.qos:
        table.add_row("completed", f"{result.completed / seconds:,.0f} messages/s")
    for name, figures in (
        ("delivery", result.delivery_ms),
        ("acknowledged", result.acknowledgement_ms),
    ):
        if figures:
            table.add_row(
                name, ", ".join(f"{label} {value:,.3f}" for label, value in figures.items()) + " ms"
            )
    faults = result.faults
    wrong = {
        "lost": faults.lost,
        "twice": faults.duplicates,
        "out of order": faults.late,
        "foreign": faults.foreign,
        "refused": faults.refused,
        "unfinished": faults.unfinished,
    }
    said = ", ".join(f"{count:,} {name}" for name, count in wrong.items() if count)
    table.add_row("messages", Text(said, "red") if said else Text("each once, in order", "green"))
    answer = result.as_json()
    generator, broker = answer["generator"], answer["broker"]
    limited = " (generator-limited)" if result.limit == "generator" else ""
    table.add_row(
        "generator",
        f"{generator['cpu_share']:.0%} of a core, "
        f"{generator['cpu_seconds_per_million']} CPU s per million messages{limited}",
    )
    if broker is not None:
        table.add_row(
            "broker",
            f"{broker['cpu_share']:.0%} of a core, "
            f"{broker['cpu_seconds_per_million']} CPU s per million messages, "
            f"{broker['rss_bytes'] / 2**20:.1f} MiB, "
            f"{broker['written_bytes_per_message']} bytes written per message",
        )
    return table
