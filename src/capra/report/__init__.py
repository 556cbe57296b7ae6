"""Seeing what happens: the live terminal."""
