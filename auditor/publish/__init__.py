"""What leaves this machine and comes to it: keys and envelopes, and bundles from an address."""
