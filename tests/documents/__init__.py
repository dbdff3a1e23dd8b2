"""Tests of the documents for people: links, commands, and the website built from them."""
