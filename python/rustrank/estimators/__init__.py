"""Rankers with `fit` and `predict`, like scikit-learn's, which is optional."""
