"""Sweeps: several ways to serve, each started, measured and stopped in turn. Records and words; nothing is started."""
