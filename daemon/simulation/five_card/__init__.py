"""Five-card stud played by people who know the regulation: decisions, a book of their own, the dealer."""
