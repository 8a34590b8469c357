"""How Spawrious is made and looked at: generation, composition, and what its authors checked."""
