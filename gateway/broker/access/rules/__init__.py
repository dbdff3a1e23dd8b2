"""Access rules: parsing of the rules file, and decisions about clients and topics."""
