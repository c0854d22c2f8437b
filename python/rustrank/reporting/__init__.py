"""`rustrank.report`: a comparison of rankers as one HTML file."""
