"""Capra."""
