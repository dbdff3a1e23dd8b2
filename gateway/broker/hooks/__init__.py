"""Hooks: a Python module of the operator that observes the broker.

The module receives every event in a thread of its own, through a bounded queue. Whatever it does
(raise, hang, fall behind, fail to load), it neither breaks nor delays the broker. It receives only
events that a power cut cannot undo. Such modules import the names of `gateway.hooks`;
docs/hooks.md is its documentation.
"""
