//! Tests of the parts. They are in a module of their own, because a test inside a part would be compiled into the model
//! too.

mod active;
mod clock;
mod csr;
