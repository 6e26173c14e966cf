"""Loading of committed records into images, publishers of images, and generation of snapshots."""
