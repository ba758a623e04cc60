"""Learned attention beside compiled: `targets` says where it would have to look, `measured` measures where it looks."""
