"""The programs behind ``capra.testing.hostile``: run as scripts, they import only the standard library."""
