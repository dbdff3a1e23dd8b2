"""Rules for SUBSCRIBE, UNSUBSCRIBE, retained messages, shared subscriptions and `$SYS`."""
