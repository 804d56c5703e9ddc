//! Is the database right?
