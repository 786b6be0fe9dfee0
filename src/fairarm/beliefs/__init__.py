"""What rows say of every arm: evidence, cell means, doubly robust, logged rows. No algorithm lives here."""
