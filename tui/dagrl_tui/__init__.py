"""What people look at: text Gantt, live display, picture. Every number comes from `dagrl.timeline`."""
