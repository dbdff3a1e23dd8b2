"""SUBSCRIBE and UNSUBSCRIBE, retained messages, shared subscriptions and `$SYS`."""
