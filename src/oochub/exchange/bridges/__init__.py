"""The programs that predictions come from and go to, one file each."""
