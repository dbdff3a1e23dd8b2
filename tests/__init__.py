"""The tests, with one folder per room (part of the product).

This is a package because a library in the environment installs a package `tests` as well.
"""
