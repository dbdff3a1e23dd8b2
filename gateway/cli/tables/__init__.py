"""Commands that fill, maintain and query the ingested tables, and create reports from them."""
