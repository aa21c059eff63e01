"""From the wire log to the ledger: exchanges, tokens, steps, rounds and cells."""
