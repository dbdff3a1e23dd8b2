"""Alarm conditions that are true now, derived from the gateway's reports. Pure."""
