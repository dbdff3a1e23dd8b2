"""Messages on their way to clients: queues, limits of queues, sending, acknowledgements."""
