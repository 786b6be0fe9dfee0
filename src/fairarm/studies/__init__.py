"""Live studies that last: people one at a time, kept in a database, settled cohort by cohort."""
