"""`rustrank.train`, the loop around its rounds, and the process of one worker."""
