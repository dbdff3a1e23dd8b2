"""The script that spark-submit starts: `spark-submit --py-files cloud_jobs.zip oncegate_job.py`.

`make cloud-dist` puts both into dist/cloud/; the verbs are in cloud_jobs/command.py.
"""

from __future__ import annotations

import sys

from cloud_jobs.command import main

if __name__ == "__main__":
    sys.exit(main())
