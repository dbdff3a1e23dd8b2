"""Speed, side by side with a peer in one run: `make bench`. No test asserts a time."""
