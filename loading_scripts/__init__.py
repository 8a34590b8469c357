"""Scripts that build one benchmark from its raw folder into a Parquet repository; they are run, never uploaded."""
