"""Conditions that are true now, from what the gateway reports. Pure."""
