"""User sources: the password file and a database. Also the file that records removed users."""
