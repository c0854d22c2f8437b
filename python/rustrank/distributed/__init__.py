"""Training on several workers: shards of the data, jobs, MPI, and starting the processes."""
