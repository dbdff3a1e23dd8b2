"""Around the endpoints: the bound port, headers of every response, tags, and errors."""
