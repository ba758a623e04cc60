"""Circuits that come with the package: functions that build them, and a registry of these with their parameters."""
