"""Ways bytes travel. A link carries bytes and knows nothing of what they mean."""
