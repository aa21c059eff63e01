"""From the account to the verdict: is it the same thing, is it valid, what follows."""
