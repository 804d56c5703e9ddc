//! Tests of the parts. Apart from them, since a test inside would be part of the model too.

mod active;
mod clock;
mod csr;
