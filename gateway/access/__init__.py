"""Who may connect: the password file, and the rules that later issues add to it.

This room decides and never speaks: it owes its caller a yes or no about a name and a password, at
about the same cost whether the name exists or not. How often one may ask, and what a client is
told, is up to the server.
"""
