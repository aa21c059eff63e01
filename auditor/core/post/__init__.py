"""From a pasted post to the draft of a claim file."""
