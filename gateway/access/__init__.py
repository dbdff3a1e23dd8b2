"""Who may connect, and what a client may do: sources of users, enhanced authentication, rules.

This room decides and sends nothing: it answers its caller with yes or no about a name and a
password or proof, at about the same cost whether the name exists or not, and later where there was
guessing. Its one entry for logins is `Authenticator` (authentication.py). How many exchanges may be
open, and what a client is sent, is up to the server.
"""
