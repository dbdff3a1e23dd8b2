"""The whole gateway under load on a disk that another program fills and empties."""
