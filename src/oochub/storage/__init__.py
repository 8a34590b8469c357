"""Files: written whole or not at all, Parquet, tensors, images, tar members, memory maps, caches, kinds of file."""
