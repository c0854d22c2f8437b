"""Ranking metrics: evaluation with confidence intervals, comparison of rankings, relevance for ERR."""
