"""`make cloud-dist`: what spark-submit takes, a .zip of this package beside the script to start.

python -m cloud_jobs.distribution DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
ZIP: Final = "cloud_jobs.zip"
SCRIPT: Final = "oncegate_job.py"
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""Of every file: the same sources are the same bytes."""


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


if __name__ == "__main__":
    for written in write(Path(sys.argv[1])):
        print(written)
