"""Certificates for a class of machines: that weights run every one of them, and up to which length in floats."""
