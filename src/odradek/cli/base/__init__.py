"""What commands share: options, connections, output, errors, completion."""
