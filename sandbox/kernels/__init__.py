"""One kernel: its fork server, our connection to it, the files that it sees, and kernels in waiting."""
