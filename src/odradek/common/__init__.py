"""Foundation of all packages: ports to the outside world, identifiers, checks and the kinds of failure."""
