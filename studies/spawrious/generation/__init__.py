"""Images of Spawrious made from a text, kept where their caption has a dog (Section 4.1, Appendix E)."""
