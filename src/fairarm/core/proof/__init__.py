"""What is proved: bets, the joint region, intervals from logs."""
