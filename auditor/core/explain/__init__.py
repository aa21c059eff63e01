"""Which counting rules turn what was measured into what was published, forwards and backwards."""
