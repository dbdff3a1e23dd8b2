"""Logins of people and tokens of programs: which visitor may use which route."""
