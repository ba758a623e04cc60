"""A run as a table: text, Markdown, LaTeX, HTML, CSV, JSON, JSON lines, Parquet."""
