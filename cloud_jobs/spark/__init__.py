"""The Spark session and Delta Lake's jars."""
