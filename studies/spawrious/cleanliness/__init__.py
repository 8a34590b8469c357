"""Whether the images of Spawrious show what they should, by people and by a model (Appendices E and F)."""
