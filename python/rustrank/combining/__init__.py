"""Linear combinations of rankers with the best metric, and rankers side by side on one set."""
