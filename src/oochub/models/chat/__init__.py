"""Models that answer in words: opened, asked, and their answers scored or matched to classes."""
