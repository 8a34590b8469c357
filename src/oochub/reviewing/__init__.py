"""Pictures chosen for a person to look at: galleries, and the queue of doubtful images."""
