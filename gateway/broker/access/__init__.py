"""Access control: user sources, enhanced authentication and access rules.

A user source is a place where users are looked up, such as the password file, a database or an
identity provider. This package makes decisions but sends nothing to clients. `Authenticator`
(authentication.py) is the only entry point for logins: it accepts or rejects a user name with a
password, a token or a SCRAM proof. A check takes about the same time whether or not the name
exists, and is delayed after wrong guesses. The server limits the number of open authentication
exchanges and sends the responses to clients.

`logins` queues and delays the checks of logins. `users` contains the user sources, `tokens` the
verification of tokens, and `passwords` the password file and hashes. After the login, `rules`
decides what a client may do.
"""
