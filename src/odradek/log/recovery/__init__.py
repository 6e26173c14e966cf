"""From a directory to a log: leftover files, segments, leader epochs and producer state, pass by pass."""
