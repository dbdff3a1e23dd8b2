"""Parts that all routes share: the bound port, security headers, ETags, and error responses."""
