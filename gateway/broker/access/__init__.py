"""Access control: user sources, enhanced authentication and access rules.

A user source is a place where users are looked up, such as the password file, a database or an
identity provider. This package makes decisions but sends nothing to clients. `Authenticator`
(authentication.py) is the only entry point for logins: it accepts or rejects a user name with a
password, a token or a SCRAM proof. A check takes about the same time whether or not the user
name exists. After several wrong passwords, further logins are delayed. The server limits the number
of open authentication exchanges and sends the responses to clients.

`logins` queues and delays login checks. `users` contains the user sources, `tokens` verifies
tokens, and `passwords` contains the password file and password hashes. After the login, `rules`
decides what a client may do.
"""
