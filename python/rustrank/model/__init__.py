"""Trained models: `Booster`, mixtures and stacks of boosters, and tests of their optimality."""
