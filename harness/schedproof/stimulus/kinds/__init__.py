"""What is asked of one kind of candidate alone: extenders, compiled schedulers and their plugins."""
