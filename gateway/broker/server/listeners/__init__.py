"""Listeners: sockets, the PROXY header, WebSocket frames, TLS, and the MQTT protocol."""
