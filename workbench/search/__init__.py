"""The web as of a cutoff: search over several engines, pages by dated copy, and the four layers that keep later knowledge out."""
