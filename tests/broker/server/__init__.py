"""The broker's process: its sockets and what surrounds the packets on them."""
