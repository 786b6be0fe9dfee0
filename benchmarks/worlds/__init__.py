"""The right question beside the plain difference between groups: attributes with causes, kept nodes, and what they cost."""
