"""JSON Web Tokens of an identity provider: verification, its keys, and their users."""
