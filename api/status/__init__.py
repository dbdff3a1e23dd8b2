"""Reports about the gateway: answers of its sockets, the card's file, the machine's numbers."""
