"""Runs an agent's own code on what was recorded."""
