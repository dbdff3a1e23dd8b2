"""Parts that all routes share: listening socket, security headers, ETags, and error responses."""
