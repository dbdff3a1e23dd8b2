"""From a configured listener to a connection: sockets, the PROXY header, WebSocket frames."""
