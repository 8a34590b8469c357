"""Average recall of boxes: COCO's AR, the share of true boxes found by the first 1, 10 or 100 boxes of an image."""
