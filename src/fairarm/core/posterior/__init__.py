"""What is believed after the rows: the prior of cell means, regression, doubly robust estimates, mixtures of arms."""
