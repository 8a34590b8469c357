"""Error rate: the share of rows whose predicted class is not the true one."""
