"""Every figure we publish, one script each."""
