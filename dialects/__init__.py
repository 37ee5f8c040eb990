"""What each level of the IR can say."""
