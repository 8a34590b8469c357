"""What the papers did with the hub: one folder per paper; a study may use everything, and nothing imports it."""
