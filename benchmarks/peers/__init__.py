"""Capra beside what users would pick instead: SMAC3 1.4.0, SMAC3 2.4.1 and irace 3.5, each in an environment of its own."""
