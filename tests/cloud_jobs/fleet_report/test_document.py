"""The frame of the pages, and names in HTML, in files and in anchors."""

import re

import pytest

from cloud_jobs.fleet_report.document import anchor_of, document, file_of, text

HOSTILE = ("../../etc/passwd", "con", "a/b", "A", "a", "ä", "", ".", "\x00", "x" * 5_000,
           "<b>", "\ud800")  # fmt: skip


def test_text_is_escaped_bounded_and_visible() -> None:
    assert text("<" * 100) == "&lt;" * 80
    assert text("<" * 100, 2) == "&lt;" * 2
    assert text("a\u202eb\x00\n") == "a\ufffdb\ufffd\ufffd"
    assert text(None) == "-"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_name_is_safe_whatever_a_gateway_calls_itself(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}-[0-9a-f]{16}\.html", file_of(name))
    assert re.fullmatch(r"sensor-[0-9a-f]{16}", anchor_of(name))


def test_no_two_names_share_a_file_or_an_anchor_also_where_case_is_ignored() -> None:
    assert len({file_of(name).lower() for name in HOSTILE}) == len(HOSTILE)
    assert len({anchor_of(name) for name in HOSTILE}) == len(HOSTILE)


def test_a_page_loads_nothing_and_runs_only_its_own_script() -> None:
    page = document("<title>", "<p>body</p>", home="index.html")
    assert "<title>&lt;title&gt;</title>" in page
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r'(src|href)="https?:', page)
