"""Delivery of messages to clients: queues and their limits, sending, and acknowledgements."""
