"""False alarms: the share of images without an object in which a box is drawn."""
