"""Access rules: their file, the meaning of each line, and the decision about a topic."""
