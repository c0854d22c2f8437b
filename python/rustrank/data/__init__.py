"""Data sets: binned (`Dataset`), with raw features (`RawRows`), and read in batches."""
