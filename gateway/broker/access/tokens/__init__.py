"""Login with tokens that an identity provider has signed, and the provider's keys."""
