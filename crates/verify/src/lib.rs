//! Is the database right? So far: the consistency conditions of clause 3.3.2.

pub mod conditions;
