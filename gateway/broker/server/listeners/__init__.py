"""Listeners: sockets, PROXY headers, WebSocket frames, TLS and MQTT streams."""
