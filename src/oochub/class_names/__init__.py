"""The classes of ImageNet and WordNet: names, ids, and what is a kind of what."""
