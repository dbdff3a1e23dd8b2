"""Determines from the gateway's reports which alarm conditions are true now.

This module does no I/O.
"""
