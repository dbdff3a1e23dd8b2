"""The paths and URLs that are directories of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.places import absolute, local_directory


@pytest.mark.parametrize(
    ("place", "directory"),
    [
        ("/srv/landed", Path("/srv/landed")),
        ("landed", Path("landed")),
        ("file:///srv/a%20b", Path("/srv/a b")),
        ("s3a://bucket/prefix", None),
        ("hdfs://host/x", None),
    ],
)
def test_paths_and_file_urls_are_directories_of_this_machine(
    place: str, directory: Path | None
) -> None:
    assert local_directory(place) == directory


def test_a_relative_path_is_made_absolute_and_all_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("var/tables") == str(tmp_path / "var/tables")
    for place in ("/srv/landed", "file:///srv/a%20b", "s3a://bucket/prefix", "hdfs://host/x"):
        assert absolute(place) == place
