"""The exceptions that this room's callers handle, and what Spark reported in one line."""

from __future__ import annotations

import sys
from typing import Final

from pyspark.errors import PySparkException

LINE_CHARACTERS_MAX: Final = 500
"""Of a message of Spark's: its first lines can hold whole query plans."""


def spark_failures() -> tuple[type[Exception], ...]:
    """Return the classes of what Spark raises, for an `except`.

    Those for which PySpark has no class, most often of Delta and Hadoop, are py4j's own; through
    Spark Connect there is no py4j, and all are PySpark's.
    """
    py4j = sys.modules.get("py4j.protocol")
    return (PySparkException,) if py4j is None else (PySparkException, py4j.Py4JJavaError)


_CONFLICT: Final = "[DELTA_CONCURRENT"
"""What the text of each conflict of two writers begins with, whichever class PySpark gives it."""


class IngestError(RuntimeError):
    """The run cannot go on. The text is for a person and ends with the mend."""


class ConflictError(IngestError):
    """Another writer has made the same commit, as it was found without Spark."""


def is_conflict(failure: Exception) -> bool:
    """Return whether a failure is that another writer committed beside this one."""
    return isinstance(failure, ConflictError) or _CONFLICT in str(failure)


class KeysFileError(IngestError):
    """The file of `--keys` is not what it has to be. The text names the line and the mend."""


class TablesBusyError(IngestError):
    """Another writer has the tables. The text is for a person and ends with the mend."""


_OF_A_WORKER: Final = "from the Python worker:"
"""What a first line ends with that is followed by a stack of Python and then by what happened."""


def first_line_of(failure: Exception) -> str:
    """Return the first line of a failure of Spark, without the stack of the JVM, and of a worker's
    failure also the last one, behind its stack; the class where there is no text."""
    text = str(getattr(failure, "java_exception", None) or failure)
    first, *others = text.strip().splitlines() or [type(failure).__name__]
    line = f"{first} {others[-1].strip()}" if others and first.endswith(_OF_A_WORKER) else first
    return line[:LINE_CHARACTERS_MAX]


_WITHOUT_FILE_SYSTEM: Final = ("No FileSystem for scheme", "FileSystem not found")
"""Of Hadoop's messages where the jars of a URL's scheme are missing."""


def jars_hint(failure: Exception) -> str:
    """Return the mend where Spark lacks the jars of a URL's scheme, else nothing."""
    if not any(text in str(failure) for text in _WITHOUT_FILE_SYSTEM):
        return ""
    return (
        "; Spark has no jars for this kind of URL: add hadoop-aws for s3a, hadoop-azure for abfss, "
        "Google's gcs-connector for gs, all for the Hadoop of this Spark, with --jars DIR or "
        "spark-submit --packages"
    )
