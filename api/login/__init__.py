"""Logins and tokens: which visitor may use which route."""
