"""What people give: programs by name or file, and their inputs."""
