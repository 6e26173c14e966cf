"""From committed records to an image, to those who are told of it, and to snapshots."""
