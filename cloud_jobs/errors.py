"""The one exception that this room's callers handle, and what Spark reported in one line."""

from __future__ import annotations

from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

LINE_CHARACTERS_MAX: Final = 500
"""Of a message of Spark's: its first lines can hold whole query plans."""

SPARK_FAILURES: Final = (PySparkException, Py4JJavaError)
"""The second are those for which PySpark has no class, most often of Delta and Hadoop."""


class IngestError(RuntimeError):
    """The run cannot go on. The text is for a person and ends with the mend."""


class KeysFileError(IngestError):
    """The file of `--keys` is not what it has to be. The text names the line and the mend."""


def first_line_of(failure: Exception) -> str:
    """Return the first line of a failure of Spark, without the stack of the JVM; its class where
    it has no text."""
    text = str(failure.java_exception) if isinstance(failure, Py4JJavaError) else str(failure)
    lines = text.strip().splitlines() or [type(failure).__name__]
    return lines[0][:LINE_CHARACTERS_MAX]
