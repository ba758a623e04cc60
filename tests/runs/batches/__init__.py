"""Many runs in one call are the runs one by one."""
