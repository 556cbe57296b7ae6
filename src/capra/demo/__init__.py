"""The embedded default: clasp (from the clingo wheel) on generated quasigroup instances."""

from capra.demo.prepare import prepare

__all__ = ["prepare"]
