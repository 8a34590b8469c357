"""What a model says of images whose object or background was taken away or exchanged: `--probe background`."""
