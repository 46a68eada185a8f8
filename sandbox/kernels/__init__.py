"""One living kernel: the fork server that makes it, our connection to it, what files it sees, and kernels in waiting."""
