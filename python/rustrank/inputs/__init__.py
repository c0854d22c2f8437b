"""Checks of what callers pass: numbers and flags, vectors, tables, query ids, categories."""
