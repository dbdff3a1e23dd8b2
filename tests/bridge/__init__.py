"""The bridge: framings as pure functions, then real terminals, real brokers and a real kill."""
