"""Sources of users (the password file and a database), and the record of removed users."""
