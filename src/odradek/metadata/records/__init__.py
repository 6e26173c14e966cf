"""Records of the metadata log: their bytes, and the options with which an image is written as records."""
