"""What the cluster knows about itself: records of the metadata log, replayed into an image.

The log of `__cluster_metadata` is the truth; an image is that truth at one offset. `record_serde` turns bytes into
records, `delta` collects what a few records change, `image` is what they add up to, `loader` carries committed batches
and snapshots through both and tells the `publisher`s, and `writer` says an image again as the records of a snapshot.

Nothing here waits, reads a clock or decides: deciding is the controller's.
"""
