"""How far an answer holds where something is not known: outcomes that are missing, a cause that nobody recorded, a declared
table that is wrong. Each gives a *box* of what every cell's mean can be, or a distance that an arm's numbers can move."""
