"""An honest client beside each attack, measured: `make hostile`. No test asserts a time."""
