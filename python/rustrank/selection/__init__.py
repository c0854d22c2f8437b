"""Cross-validation over queries, and tuning of parameters."""
