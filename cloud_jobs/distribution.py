"""Packages the job for spark-submit (`make cloud-dist`).

Three files are written: a .zip of this package, the script that spark-submit starts, and a
properties file that names the jars to download.

Usage: python -m cloud_jobs.distribution DIRECTORY
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
"""File for `spark-submit --properties-file`. It names the jars of Delta Lake and of the S3
client."""
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""Timestamp of every file in the .zip, so that the same sources result in the same bytes."""


def properties() -> str:
    """Return the text of the properties file.

    It lists the packages that Spark downloads, and the packages that are excluded.
    """
    needed = needed_for(["s3a://bucket"])
    packages = ",".join(needed.packages)
    return f"spark.jars.packages {packages}\nspark.jars.excludes {needed.excludes}\n"


def write(directory: Path) -> tuple[Path, Path]:
    """Write the .zip and the script into a directory.

    Return the paths of the .zip and the script.
    """
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
    """Write the .zip, the script and the properties file. Return their paths."""
    written = write(directory)
    conf = directory / PROPERTIES
    conf.write_text(properties())
    return (*written, conf)


if __name__ == "__main__":
    for path in write_all(Path(sys.argv[1])):
        print(path)
