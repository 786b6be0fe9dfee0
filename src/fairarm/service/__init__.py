"""Live studies over HTTP, and pages to watch them."""
