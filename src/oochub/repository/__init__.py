"""What is written to be published: Parquet or WebDataset shards, card, build record, and what verifies a release."""
