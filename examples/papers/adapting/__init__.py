"""Parts of `adaptation.py`: its data, its rankers and its tables."""
