"""Commands for serial ports: list, sniff, replay, detect, and a simulated board."""
