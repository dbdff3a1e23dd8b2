"""Access control: sources of users, enhanced authentication and access rules.

This package makes decisions but sends nothing to clients. `Authenticator` (authentication.py) is
the only entry point for logins: it accepts or rejects a user name with a password, a token or a
SCRAM proof. A check costs about the same whether or not the name exists, and is delayed after wrong
guesses. The server limits the number of open exchanges and chooses the packets that a client
receives.

A login (`logins`) is checked by a source of users (`users`) or by its token (`tokens`). `passwords`
contains the password file and hashes. `rules` decide afterwards what a client may do.
"""
