"""Drawing with matplotlib: style, layout, and the plots of result objects. Lower than the results."""
