//! The compiler process: its protocol, its client with the disk cache, and the server.
