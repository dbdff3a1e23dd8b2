"""Sources of users: the password file and a database. Also records removed users."""
