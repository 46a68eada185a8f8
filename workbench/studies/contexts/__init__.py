"""Shared contexts (paper P, section 2): gathered once per question and time, stored by content, read alike by every arm."""
