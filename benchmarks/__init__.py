"""Ours beside a reader in C and the field's own clients, on one synthetic server whose truth is known.

`python -m benchmarks` builds the C programs, runs each client against the same loads, and prints the ratios.
"""
