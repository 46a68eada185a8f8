"""What stands in a notebook's cell instead of a page: parts of the dashboard, the progress of a run, a proof."""
