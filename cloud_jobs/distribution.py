"""`make cloud-dist`: what spark-submit takes, a .zip of this package beside the script to start and
the properties that name the jars.

python -m cloud_jobs.distribution DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from typing import Final

from cloud_jobs.spark.jars import needed_for

PACKAGE: Final = Path(__file__).parent
ZIP: Final = "cloud_jobs.zip"
SCRIPT: Final = "oncegate_job.py"
PROPERTIES: Final = "oncegate.conf"
"""For `spark-submit --properties-file`: Delta Lake, and of S3 what the job needs."""
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""Timestamp of every file, so that the same sources result in the same bytes."""


def properties() -> str:
    """Return the properties: what Spark's resolver fetches, and what it has to leave out."""
    needed = needed_for(["s3a://bucket"])
    packages = ",".join(needed.packages)
    return f"spark.jars.packages {packages}\nspark.jars.excludes {needed.excludes}\n"


def write(directory: Path) -> tuple[Path, Path]:
    """Write the two files; return the .zip and the script."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / ZIP
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            if path.suffix in {".py", ".properties"}:
                entry = zipfile.ZipInfo(str(path.relative_to(PACKAGE.parent)), _TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    script = directory / SCRIPT
    shutil.copyfile(PACKAGE / SCRIPT, script)
    return target, script


def write_all(directory: Path) -> tuple[Path, ...]:
    """Write the properties too; return all files."""
    written = write(directory)
    conf = directory / PROPERTIES
    conf.write_text(properties())
    return (*written, conf)


if __name__ == "__main__":
    for path in write_all(Path(sys.argv[1])):
        print(path)
