"""Getting the package to the executors of a cluster, and finding out what they have."""
