"""A challenge: what a claimant is asked to run beside his own server, and whether a run answers it. Pure."""
