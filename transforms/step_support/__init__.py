"""What all schedule steps share: how they find loops, what they ask of dependences, how they refuse."""
