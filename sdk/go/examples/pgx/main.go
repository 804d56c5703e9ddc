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
	connection := strings.Join(os.Args[1:], " ")
	lydite.ServeDriver(func() (lydite.Driver, error) { return postgres.Open(connection) })
}
