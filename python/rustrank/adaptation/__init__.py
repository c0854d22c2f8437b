"""Adaptation of a ranker to another market that has little data."""
