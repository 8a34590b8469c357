"""Reading from a Hub: one commit, retries, faults in words."""
