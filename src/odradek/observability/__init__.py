"""What nodes and consumer services share to be observed: pages over HTTP."""
