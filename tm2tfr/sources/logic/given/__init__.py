"""What people give: formulas and programs by name or file, and their words."""
