"""Configurators with guarantees: what they cost, whether their promises hold, and how fast they are simulated."""
