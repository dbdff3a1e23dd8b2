"""The tests, one folder per room.

A package, because a library in the environment installs a package `tests` of its own.
"""
