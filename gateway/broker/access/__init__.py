"""Access control: sources of users, enhanced authentication and access rules.

This package decides and sends nothing. `Authenticator` (authentication.py) is its only entry point
for logins: it accepts or rejects a name with a password or proof. A check costs about the same
whether or not the name exists, and is delayed after wrong guesses. The server limits the number of
open exchanges and chooses the packets that a client receives.
"""
