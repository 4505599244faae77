"""Writes runs."""
