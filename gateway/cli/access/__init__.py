"""Commands for users, API tokens, access rules and certificates."""
