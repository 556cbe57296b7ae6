"""``python -m capra``."""

from capra.cli import main

main()
