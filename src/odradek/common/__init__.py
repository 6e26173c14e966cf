"""What every room stands on: ports to the outside world, identifiers, checks and the kinds of failure."""
