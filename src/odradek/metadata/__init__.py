"""Metadata of the cluster: records of the metadata log, replayed into an image.

The log of `__cluster_metadata` is the source of truth; an image is its state at one offset. `records` decodes records;
in `image`, `delta` collects the changes of some records and `image` is the state after them; in `publishing`, `loader`
loads committed batches and snapshots and calls the `publisher`s, and `snapshot_generator` decides when an image is
written as a snapshot.

Nothing here waits, reads a clock or makes decisions about the cluster: that is the controller's part.
"""
