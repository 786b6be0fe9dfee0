"""The fewest pulls that any rule which stops when sure needs."""
