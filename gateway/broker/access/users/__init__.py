"""User sources (the password file and a database), and the file that records removed users."""
