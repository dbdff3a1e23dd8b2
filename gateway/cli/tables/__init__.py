"""Commands for the ingested tables: fill, maintain, query and report them."""
