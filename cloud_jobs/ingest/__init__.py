"""Lists and verifies landed (uploaded) segment files, and stores their events."""
