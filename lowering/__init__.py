"""Passes that go down one level each."""
