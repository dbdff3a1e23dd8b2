"""Commands for users, tokens of programs, access rules and certificates."""
