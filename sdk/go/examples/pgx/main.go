// A driver for PostgreSQL, and what speaks like it, by pgx: `pgx CONNECTION`, as pgx reads it ("host=localhost user=postgres
// dbname=tpcc", or a URL). What is not said comes from the environment (PGHOST, PGPASSWORD, …).
package main

import (
	"os"
	"strings"

	lydite "lydite.dev/driver"
	"lydite.dev/driver/examples/pgx/postgres"
)

func main() {
	// As Lydite's own client, this one comes first.
	if password := os.Getenv("LYDITE_PASSWORD"); password != "" {
		os.Setenv("PGPASSWORD", password)
	}
	connection := strings.Join(os.Args[1:], " ")
	lydite.ServeDriver(func() (lydite.Driver, error) { return postgres.Open(connection) })
}
