"""Training: one loop on Accelerate and the robust objectives."""
