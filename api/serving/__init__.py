"""The parts around all routes: the bound port, security headers, ETags, and error responses."""
