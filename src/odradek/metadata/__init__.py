"""What the cluster knows about itself: records of the metadata log, replayed into an image.

The log of `__cluster_metadata` is the truth; an image is that truth at one offset. `records` turns bytes into records;
in `image`, `delta` collects what a few records change and `image` is what they add up to; in `publishing`, `loader`
carries committed batches and snapshots through both and tells the `publisher`s, and `snapshot_generator` writes an
image as the records of a snapshot.

Nothing here waits, reads a clock or decides: deciding is the controller's.
"""
