"""The broker's event loop. After every event, it sends the core's packets and starts commits."""
