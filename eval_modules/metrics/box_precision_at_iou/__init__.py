"""Average precision of boxes at one overlap: COCO's AP50 and AP75."""
