"""Who may connect: the password file, and enhanced authentication on top of it.

This room decides and sends nothing: it answers its caller with yes or no about a name and a
password or proof, at about the same cost whether the name exists or not. Its one entry is
`Authenticator` (authentication.py). How often one may ask, and what a client is sent, is up to the
server.
"""
