"""Photographs of COCO that anybody may pass on, and masks of objects in them; ATTRIBUTION.tsv has the licences."""
