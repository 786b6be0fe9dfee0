"""Examples that run as they are, and as tests."""
