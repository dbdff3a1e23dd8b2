"""The script that spark-submit starts: `spark-submit --py-files cloud_jobs.zip oncegate_job.py`.

`make cloud-dist` writes the .zip and this script to dist/cloud/. cloud_jobs/command.py implements
the commands.
"""

from __future__ import annotations

import sys

from cloud_jobs.command import main

if __name__ == "__main__":
    sys.exit(main())
