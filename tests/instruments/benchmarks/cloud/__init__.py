"""The rate at which a core turns a fleet's logs into tables, compared with plain Spark."""
