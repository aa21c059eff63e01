"""Formats as they come over a socket: the wire log, HTTP/1.1, event streams, metrics."""
