"""What the command line does for Turing machines alone."""
