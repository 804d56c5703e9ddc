//! Errors of an export.

use std::io;

/// An error of an export. Each prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Rows have no point in time, and the format can't do without.
    #[error("{run} has no window.start, and {format} needs a time: use --to csv")]
    NoTime {
        /// The result.
        run: String,
        /// The format.
        format: &'static str,
    },
    /// A count has more than 63 bits.
    #[error("{run}: {column} is {value}, more than any run can count: this file was changed by hand")]
    TooLarge {
        /// The result.
        run: String,
        /// Column.
        column: &'static str,
        /// Value.
        value: u64,
    },
    /// Two rows of a table have the same key and the same time.
    #[error("{table}: two rows have the key {key}: name each result once")]
    Twice {
        /// Table.
        table: &'static str,
        /// The key as the format writes it.
        key: String,
    },
    /// A text can't be a tag of the line protocol.
    #[error(
        "{column} {text:?} ends with a backslash, which no tag of Influx's line protocol can hold: rename it, or use another format"
    )]
    Tag {
        /// Column.
        column: &'static str,
        /// The text.
        text: String,
    },
    /// A part of a result has no written form.
    #[error("{run}: {part} has no form in JSON: {source}")]
    Json {
        /// The result.
        run: String,
        /// The part.
        part: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// The program was built without Parquet.
    #[error(
        "this lydite can't write Parquet: use --to csv, which DuckDB, pandas and Polars read as well, or build one \
         that can, in a clone: `cargo install --locked --path crates/lydite --features parquet`"
    )]
    NoParquet,
    /// The library for Parquet failed.
    #[cfg(feature = "parquet")]
    #[error("cannot write Parquet: {0}; use --to csv")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The output can't be written.
    #[error("{0}")]
    Write(#[from] io::Error),
}
