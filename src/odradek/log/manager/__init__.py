"""All logs of a node: directories, creation, deletion, checkpoints, start-up and periodic maintenance."""
