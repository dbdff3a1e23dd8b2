"""How a JVM is started that will not run for long."""

SHORT_JVM = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=256m"
)
"""Without the second compiler, which takes a third of the processors and pays off after minutes;
with room for all that the first one makes of Spark, which else is thrown away and made again, and
for Spark's classes, which else are searched for garbage several times at the start."""
