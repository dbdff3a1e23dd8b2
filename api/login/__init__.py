"""Logins for people and tokens for programs, which decide who is allowed to use which route."""
