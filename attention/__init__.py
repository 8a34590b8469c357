"""What models look at in the images that they get wrong, and how much of it lies on the object."""
