"""How a JVM of the tests is started: it will not run for long."""

from cloud_jobs.spark.java import SHORT_RUN

SHORT_JVM = f"{SHORT_RUN} -XX:+UseSerialGC -XX:MetaspaceSize=256m"
"""With room for Spark's classes as well, which else are searched for garbage several times at the
start."""
