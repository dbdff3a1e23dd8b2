"""The event loop: sends the core's output and starts the next batch after every event."""
