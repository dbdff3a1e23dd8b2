"""Keeps the Java classes and methods that PySpark looks up by name.

For each column expression, PySpark asks the JVM for a class and for one of its methods. Some
classes are named without their package. The JVM then searches all jars for a class of this name in
each imported package, although the answer is always the same.
"""

from __future__ import annotations

from typing import Any, Final

from py4j.java_gateway import JavaMember
from pyspark.sql import SparkSession, is_remote

_CLASSES: Final = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
)
"""Names of Java classes, exactly as PySpark spells them."""


class _Class:
    """A Java class. Each of its methods is looked up once."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._java_class, name)
        if isinstance(found, JavaMember):
            setattr(self, name, found)
        return found


def keep_java_names(spark: SparkSession) -> None:
    """Keep the classes and methods that PySpark looks up most often, while the JVM runs.

    A Spark Connect client has no JVM, and nothing is done.
    """
    if is_remote():
        return
    jvm = spark.sparkContext._jvm
    for name in _CLASSES:
        if name not in vars(jvm):
            setattr(jvm, name, _Class(getattr(jvm, name)))
