//! All tests of this crate from outside, in one program: they overlap, and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod balances;
mod book;
mod conditions;
mod controls;
mod disk_full;
mod driver;
mod every_target;
mod extra;
mod gates;
mod golden;
mod hang;
mod ignite;
mod killed;
mod kit;
mod lab;
mod ledger;
mod loaded;
mod loading;
mod mariadb;
mod micro;
mod modes;
mod outage;
mod outputs;
mod program;
mod real_servers;
mod replicas;
mod report;
mod server;
mod spec;
mod spec_go;
mod state;
mod stores;
mod sweep;
mod usage;
mod verify;
