"""From ingested tables to the tables that a person asks about; each batch is taken once."""
