"""Exceptions that callers of this package handle, and functions that shorten Spark's messages."""

from __future__ import annotations

import sys
from typing import Final

from pyspark.errors import PySparkException

LINE_CHARACTERS_MAX: Final = 500
"""Maximum characters of a Spark message: its first lines can contain whole query plans."""


def spark_failures() -> tuple[type[Exception], ...]:
    """Return the exception classes of Spark failures, for an `except` clause.

    PySpark has no exception class for many failures in Delta and Hadoop, so py4j raises an
    exception of its own. With Spark Connect, py4j is not loaded, and every failure is a PySpark
    exception.
    """
    py4j = sys.modules.get("py4j.protocol")
    return (PySparkException,) if py4j is None else (PySparkException, py4j.Py4JJavaError)


_CONFLICT: Final = "[DELTA_CONCURRENT"
"""Prefix of error messages about two conflicting writers. PySpark uses several classes for them."""


class IngestError(RuntimeError):
    """Error that stops a run of the job. The message states the cause, and how to fix it."""


class ConflictError(IngestError):
    """Error that is raised if another writer has already committed the same table version."""


def is_conflict(failure: Exception) -> bool:
    """Return True if a failure is a commit conflict: another writer committed first."""
    return isinstance(failure, ConflictError) or _CONFLICT in str(failure)


class KeysFileError(IngestError):
    """Error that is raised if the keys file (`--keys`) is invalid.

    The message states which line is wrong, and how to fix it.
    """


class TablesBusyError(IngestError):
    """Error that is raised if another run is writing to the tables.

    The message states the cause, and what to do.
    """


_WORKER_ERROR: Final = "from the Python worker:"
"""End of a message's first line if a Python traceback and then the cause follow."""


def first_line_of(failure: Exception) -> str:
    """Return the first line of a Spark failure, without the JVM stack trace.

    If a Python worker failed, the last line is appended, because it contains the cause. If a
    failure has no message, the name of its class is returned. The result has at most
    LINE_CHARACTERS_MAX characters.
    """
    text = str(getattr(failure, "java_exception", None) or failure)
    first, *others = text.strip().splitlines() or [type(failure).__name__]
    line = f"{first} {others[-1].strip()}" if others and first.endswith(_WORKER_ERROR) else first
    return line[:LINE_CHARACTERS_MAX]


_WITHOUT_FILE_SYSTEM: Final = ("No FileSystem for scheme", "FileSystem not found")
"""Fragments of Hadoop's messages about missing jars for a URL scheme."""


def jars_hint(failure: Exception) -> str:
    """Return a hint on how to add jars, if a failure was caused by missing jars for a URL scheme.

    For any other failure, return an empty string.
    """
    if not any(text in str(failure) for text in _WITHOUT_FILE_SYSTEM):
        return ""
    return (
        "; Spark has no jars for this kind of URL: add hadoop-aws for s3a, hadoop-azure for abfss, "
        "Google's gcs-connector for gs, all for the Hadoop of this Spark, with --jars DIR or "
        "spark-submit --packages"
    )
