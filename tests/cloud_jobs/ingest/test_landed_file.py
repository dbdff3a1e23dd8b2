"""A landed file is read up to the size of a segment, and named with the mend where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest import landed_file
from cloud_jobs.ingest.landed_file import LOCAL, name_of, read_here


def test_a_file_has_its_bytes_unless_no_segment_has_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a b.zst"
    file.write_bytes(b"abc")
    assert read_here(f"{LOCAL}{file}") == (3, b"abc")
    assert name_of(f"{LOCAL}{file}") == "a b.zst"
    monkeypatch.setattr(landed_file, "SEGMENT_FILE_BYTES_MAX", 2)
    assert read_here(f"{LOCAL}{file}") == (3, None)
    file.write_bytes(b"")
    assert read_here(f"{LOCAL}{file}") == (0, b"")


def test_a_file_that_is_gone_is_an_error_with_the_mend(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"gone.zst cannot be read: No such .*run it again"):
        read_here(f"{LOCAL}{tmp_path}/gone.zst")
