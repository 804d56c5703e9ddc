//! Databases under test.
