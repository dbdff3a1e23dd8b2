"""PUBLISH from clients at each QoS, wills, and the checks before a message is accepted."""
