"""The bridge: protocols as pure functions, then real terminals, real brokers and a real kill."""
