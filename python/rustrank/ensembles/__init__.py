"""Ensembles of rankers of several kinds, and distillation of a large ranker into a small one."""
