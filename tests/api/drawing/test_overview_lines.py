"""The lines of text on the page's overview."""

from api.drawing.overview_lines import Line, lines_of
from api.history.history import History, Reading
from tests.api import recorded
from tests.api.history.overviews import overview_of


def lines(status: recorded.Json | None = None, history: History | None = None) -> dict[str, Line]:
    overview = overview_of(status, recorded.bridge_status())
    return {each.name: each for each in lines_of(overview, (history or History(None)).last_hour)}


def test_each_part_has_a_line_with_its_numbers() -> None:
    found = {name: line.text.replace("\N{NO-BREAK SPACE}", " ") for name, line in lines().items()}
    assert found == {
        "Messages": "12 queued, none dropped",
        "Clients": "3 connected of 4 sessions, 3 of 10,000 connections open",
        "Readings": "18,423 published, 0 waiting, delivered in 8 ms",
        "Uploads": "12 segments sent, 0 waiting, the last 42 s ago",
        "Disk": "8.4 GiB of 14.9 GiB free",
    }
    assert not any(line.is_bad for line in lines().values())


def test_rates_come_from_the_history_with_a_curve() -> None:
    history = History(None)
    names = ("gateway/messages_in", "gateway/messages_out")
    four = (10.25, 10.25, 10.25, 10.25)
    history.add(
        recorded.NOW_MS, [Reading(name, "1/s", recorded.NOW_MS, 1, *four) for name in names]
    )
    found = lines(history=history)["Messages"]
    assert found.text.startswith("10.2 in and 10.2 out per second, ")
    assert found.chart is not None


def test_drops_and_a_full_disk_are_bad() -> None:
    status = recorded.status()
    status["messages"]["dropped"] = {"queue_full": 3}
    status["disk"] = recorded.full_disk()
    found = lines(status)
    assert found["Messages"].text.endswith("3 dropped")
    assert found["Messages"].is_bad
    assert found["Disk"].is_bad
