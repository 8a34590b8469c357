"""The benchmarks: one file, one benchmark; its `datasets` builder, its configs, its declaration."""
