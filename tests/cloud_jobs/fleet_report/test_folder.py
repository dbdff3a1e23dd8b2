"""The report's folder: pages and links, replaced as a whole without touching other files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.fleet_report import folder as folder_module
from cloud_jobs.fleet_report.folder import Written, write_report
from cloud_jobs.fleet_report.names import NO_NAMES
from cloud_jobs.fleet_report.open_tables import ReportError
from tests.cloud_jobs.fleet_report.conftest import Fleet
from tests.cloud_jobs.fleet_report.simulated_fleet import NOW, write_tables

HOSTILE = ("a/../../b", "CON", "con", "<b>", "ä", "x" * 900)


def write(root: Path, folder: Path) -> Written:
    return write_report(
        str(root), folder, days=7, names=NO_NAMES, now=NOW, progress=lambda *_: None
    )


def fleet_of(root: Path, *gateways: str) -> None:
    rows: dict[str, list[dict[str, Any]]] = {
        "boots": [{"gateway": gateway, "last_time": NOW} for gateway in gateways]
    }
    write_tables(root, rows)


def test_each_link_leads_to_a_page_and_to_a_section_that_exist(fleet: Fleet) -> None:
    pages = [fleet.folder / "index.html", *(fleet.folder / "gateways").iterdir()]
    assert len(pages) == fleet.written.pages == 51
    followed = 0
    for page in pages:
        for link in re.findall(r'href="([^"]*)"', page.read_text()):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert target in [each.resolve() for each in pages], link
            assert not anchor or f'id="{anchor}"' in target.read_text(), link
            followed += 1
    assert followed > 300


def test_what_was_written_is_counted(fleet: Fleet) -> None:
    files = list(fleet.folder.rglob("*.html"))
    assert fleet.written.bytes_written == sum(path.stat().st_size for path in files)
    assert fleet.written.sensors == 200
    assert fleet.written.attention["Silent sensors"] == 1


def test_hostile_gateways_have_a_file_each_inside_the_folder(tmp_path: Path) -> None:
    fleet_of(tmp_path / "tables", *HOSTILE)
    write(tmp_path / "tables", tmp_path / "report")
    assert {path.name for path in tmp_path.iterdir()} == {"tables", "report"}
    names = [path.name for path in (tmp_path / "report" / "gateways").iterdir()]
    assert len({name.lower() for name in names}) == len(HOSTILE)


def test_a_report_replaces_an_earlier_one_with_all_its_pages(tmp_path: Path) -> None:
    report = tmp_path / "report"
    fleet_of(tmp_path / "one", "hall", "attic")
    write(tmp_path / "one", report)
    fleet_of(tmp_path / "two", "hall")
    write(tmp_path / "two", report)
    assert len(list((report / "gateways").iterdir())) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "report", "two"]


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    fleet_of(tmp_path / "t", "hall")
    left = tmp_path / "report.part"
    left.mkdir()
    (left / ".oncegate-report").touch()
    write(tmp_path / "t", tmp_path / "report")
    assert not left.exists()


def test_a_run_that_fails_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report"
    fleet_of(tmp_path / "t", "hall")
    write(tmp_path / "t", report)
    before = (report / "index.html").read_bytes()
    # This name is longer than the file system allows.
    monkeypatch.setattr(folder_module, "file_of", lambda _gateway: "x" * 300)
    with pytest.raises(OSError, match="name too long"):
        write(tmp_path / "t", report)
    assert (report / "index.html").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "t"]


def test_a_folder_that_is_no_report_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(ReportError, match="is not empty and not a report: choose another"):
        write(tmp_path, tmp_path / "photos")
    (tmp_path / "file").touch()
    with pytest.raises(ReportError, match="a folder of pages: choose a name such as file"):
        write(tmp_path, tmp_path / "file")
    with pytest.raises(ReportError, match="choose a name such as fleet with --output"):
        write(tmp_path, tmp_path / "fleet.html")
    assert (tmp_path / "photos" / "cat.jpg").exists()


def test_a_gateway_with_many_gaps_shows_the_largest_and_counts_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "ROWS_PER_GATEWAY_MAX", 2)
    gaps = [{"gateway": "hall", "kind": "sequence", "missing": n, "segment": n, "detail": f"no {n}"}
            for n in range(1, 6)]  # fmt: skip
    write_tables(tmp_path / "t", {"boots": [{"gateway": "hall", "last_time": NOW}], "gaps": gaps})
    write(tmp_path / "t", tmp_path / "r")
    (page,) = (tmp_path / "r" / "gateways").iterdir()
    text = page.read_text()
    assert "5 gaps now; the largest 2 are shown." in text
    assert "no 5" in text
    assert "no 3" not in text


def test_many_gateways_are_read_in_parts_and_progress_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "GATEWAYS_PER_READ_MAX", 2)
    fleet_of(tmp_path / "t", *(f"gw-{n}" for n in range(5)))
    seen: list[tuple[int, int]] = []
    write_report(str(tmp_path / "t"), tmp_path / "r", days=7, names=NO_NAMES, now=NOW,
                 progress=lambda written, count: seen.append((written, count)))  # fmt: skip
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert len(list((tmp_path / "r" / "gateways").iterdir())) == 5
