"""The Spark session, its jars and its JVM."""
