"""Things to test Capra, and what you build on it, with: see ``capra.testing.hostile``."""
