"""A campaign of hours may be stopped and gone on with: each job that is over is a line of a file.

A line is JSON: the job, on which build it ran, how many runs that was, and how to repeat those that
failed. It is written when the job is over; a torn last line is taken away.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Done:
    """What is over, of one build."""

    path: Path
    build: str
    jobs: set[str]
    runs: int
    failed: list[str]

    @classmethod
    def load(cls, path: Path, build: str) -> "Done":
        """Read what earlier campaigns have written down."""
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
        """A job is over."""
        self._count(repr(job), runs, failed)
        entry = {"job": repr(job), "build": self.build, "runs": runs, "failed": failed}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _count(self, job: str, runs: int, failed: list[str]) -> None:
        self.jobs.add(job)
        self.runs += runs
        self.failed += failed
