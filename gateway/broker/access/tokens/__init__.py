"""Tokens signed by an identity provider, the provider's keys, and the users in tokens."""
