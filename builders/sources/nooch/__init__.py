"""What NOOCH is made of: images and their splits, tasks, the published ids, and their verification."""
