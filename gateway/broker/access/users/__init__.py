"""User sources: the password file and a database. Another module records removed users."""
