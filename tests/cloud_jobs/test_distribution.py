"""The .zip contains the whole package, and is identical for identical sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cloud_jobs.distribution import PACKAGE, properties, write
from cloud_jobs.spark.jars import PACKAGE as DELTA


def test_the_zip_is_a_whole_package_beside_its_script(tmp_path: Path) -> None:
    archive, script = write(tmp_path / "one")
    assert script.read_bytes() == (PACKAGE / "oncegate_job.py").read_bytes()
    again, _ = write(tmp_path / "two")
    assert archive.read_bytes() == again.read_bytes()
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import cloud_jobs.limits, cloud_jobs.places;"
        "import zipfile; print(cloud_jobs.__file__, len(zipfile.ZipFile(sys.argv[1]).namelist()))"
    )
    # With -S, the package of this checkout cannot be imported.
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(archive)],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert found[0] == f"{archive}/cloud_jobs/__init__.py"
    assert int(found[1]) == len([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.properties")])


def test_the_properties_name_delta_and_what_s3_needs_without_the_whole_sdk() -> None:
    found = dict(line.split(" ", 1) for line in properties().splitlines())
    packages = found["spark.jars.packages"].split(",")
    assert DELTA in packages
    assert any(name.startswith("org.apache.hadoop:hadoop-aws:") for name in packages)
    assert "software.amazon.awssdk:bundle" in found["spark.jars.excludes"].split(",")
