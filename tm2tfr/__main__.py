"""``python -m tm2tfr``."""

from tm2tfr.cli import main

main()
