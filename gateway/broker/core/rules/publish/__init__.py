"""Rules for PUBLISH packets from clients, for wills, and for the acceptance of messages."""
