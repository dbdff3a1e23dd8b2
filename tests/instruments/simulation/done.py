"""The finished jobs of a long campaign, so that it can be stopped and continued.

The file has one line of JSON per finished job: the job, its build, its number of runs, and how to
repeat those that failed. A torn last line is removed.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Done:
    """The finished jobs of one build."""

    path: Path
    build: str
    jobs: set[str]
    runs: int
    failed: list[str]

    @classmethod
    def load(cls, path: Path, build: str) -> "Done":
        """Read the finished jobs of earlier campaigns."""
        done = cls(path, build, set(), 0, [])
        text = path.read_text() if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole)
        for line in whole.splitlines():
            entry = json.loads(line)
            if entry["build"] == build and entry["job"] not in done.jobs:
                done._count(entry["job"], entry["runs"], entry["failed"])
        return done

    def add(self, job: object, runs: int, failed: list[str]) -> None:
        """Add a finished job."""
        self._count(repr(job), runs, failed)
        entry = {"job": repr(job), "build": self.build, "runs": runs, "failed": failed}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _count(self, job: str, runs: int, failed: list[str]) -> None:
        self.jobs.add(job)
        self.runs += runs
        self.failed += failed
