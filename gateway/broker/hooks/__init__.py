"""Hooks: a Python module, written by the operator, that observes the broker.

The module receives events in a separate thread, through a bounded queue. It cannot break or delay
the broker, even if it raises an exception, hangs, is too slow or cannot be loaded. It receives an
event only after the event is durable. The operator's module imports the classes of
observers and events from `gateway.hooks`. See docs/hooks.md.
"""
