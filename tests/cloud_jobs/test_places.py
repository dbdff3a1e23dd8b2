"""Which places are directories of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.places import local_directory


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
