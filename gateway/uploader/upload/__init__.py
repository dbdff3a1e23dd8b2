"""Uploads segments from log/sealed to the configured target.

Uploaded segments move to log/sent.
"""
