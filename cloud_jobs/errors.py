"""The exceptions that this room's callers handle, and what Spark reported in one line."""

from __future__ import annotations

import sys
from typing import Final

from pyspark.errors import PySparkException

LINE_CHARACTERS_MAX: Final = 500
"""Characters of a Spark message, at most: its first lines can contain whole query plans."""


def spark_failures() -> tuple[type[Exception], ...]:
    """Return the classes of what Spark raises, for an `except`.

    Those for which PySpark has no class, most often of Delta and Hadoop, are py4j's own; through
    Spark Connect there is no py4j, and all are PySpark's.
    """
    py4j = sys.modules.get("py4j.protocol")
    return (PySparkException,) if py4j is None else (PySparkException, py4j.Py4JJavaError)


_CONFLICT: Final = "[DELTA_CONCURRENT"
"""Beginnings of the messages about two conflicting writers, whichever class PySpark gives them."""


class IngestError(RuntimeError):
    """Error that ends the run. The text is for a person and ends with the fix."""


class ConflictError(IngestError):
    """Another writer has made the same commit, as it was found without Spark."""


def is_conflict(failure: Exception) -> bool:
    """Return whether a failure is that another writer committed beside this one."""
    return isinstance(failure, ConflictError) or _CONFLICT in str(failure)


class KeysFileError(IngestError):
    """Invalid file of `--keys`. The text names the line and the fix."""


class TablesBusyError(IngestError):
    """Conflict with another writer of the tables. The text, for a person, ends with the fix."""


_OF_A_WORKER: Final = "from the Python worker:"
"""End of a first line that is followed by a Python traceback, and then by the cause."""


def first_line_of(failure: Exception) -> str:
    """Return the first line of a failure of Spark, without the stack of the JVM, and of a worker's
    failure also the last one, after its stack; the class if there is no text."""
    text = str(getattr(failure, "java_exception", None) or failure)
    first, *others = text.strip().splitlines() or [type(failure).__name__]
    line = f"{first} {others[-1].strip()}" if others and first.endswith(_OF_A_WORKER) else first
    return line[:LINE_CHARACTERS_MAX]


_WITHOUT_FILE_SYSTEM: Final = ("No FileSystem for scheme", "FileSystem not found")
"""Parts of Hadoop's messages about missing jars of a URL's scheme."""


def jars_hint(failure: Exception) -> str:
    """Return the fix if Spark lacks the jars of a URL's scheme, otherwise an empty text."""
    if not any(text in str(failure) for text in _WITHOUT_FILE_SYSTEM):
        return ""
    return (
        "; Spark has no jars for this kind of URL: add hadoop-aws for s3a, hadoop-azure for abfss, "
        "Google's gcs-connector for gs, all for the Hadoop of this Spark, with --jars DIR or "
        "spark-submit --packages"
    )
