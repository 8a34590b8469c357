"""Files of other programs: what they say becomes predictions or columns, and predictions become what they open."""
