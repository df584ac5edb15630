"""What the bytes of a table's devices mean. Each driver works without the daemon."""
