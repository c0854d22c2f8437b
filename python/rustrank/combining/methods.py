"""The names of the methods of `rustrank.Combiner`, which the command line offers, too."""

#: The names of the methods, which nested pairs are another one of.
METHODS = (
    "auto",
    "sweep",
    "coordinate",
    "powell",
    "best_first",
    "most_different_first",
    "average",
    "lambdarank",
    "lambdarank_net",
)
