"""How much of a fleet's logs a processor core turns into tables, beside what Spark alone needs."""
