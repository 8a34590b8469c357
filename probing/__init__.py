"""What a model says of pictures whose object or background was taken away or exchanged: `--probe background`."""
