"""Access rules: the rules file, the meaning of a line, and decisions about topics."""
