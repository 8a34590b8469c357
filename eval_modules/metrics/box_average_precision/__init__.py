"""Average precision of boxes: COCO's AP, the mean over overlaps of 0.5 to 0.95 and over classes."""
