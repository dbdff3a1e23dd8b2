"""Alarm conditions that are true now, derived from the gateway's reports.

This module does no I/O.
"""
