"""What one run of a RobustTrainer is made of: the loop, its stages, schedule, validation and folder."""
