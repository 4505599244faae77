"""Replays through agents' own code."""
