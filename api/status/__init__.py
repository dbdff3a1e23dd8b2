"""Reports about the gateway, from the broker's sockets, the SD card's file and the kernel."""
