"""From the rows of a data set to what a training loop is given: inputs, labels, augmentation."""
