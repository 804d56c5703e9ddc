// Package postgres is the five transactions of TPC-C, loading, and reading back, on PostgreSQL by pgx. Tables, keys and
// statements are those of Lydite's own client (postgres:// with foreign_keys=off), so that the two can be compared.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	lydite "lydite.dev/driver"
)

//go:embed schema.sql
var schema string

// How often Lydite is told that a long statement is at work.
const sign = 5 * time.Second

// No statement has a deadline of its own: Lydite has one for each request.
var ctx = context.Background()

// Session has a connection of its own. pgx prepares each statement when it meets it first.
type Session struct {
	config *pgx.ConnConfig
	db     *pgx.Conn
	info   lydite.Info
	// The transaction at hand, and whether its commit was sent.
	tx         pgx.Tx
	committing bool
}

// Open connects. What connection does not say comes from the environment, as with psql.
func Open(connection string) (*Session, error) {
	config, err := pgx.ParseConfig(connection)
	if err != nil {
		return nil, err
	}
	s := &Session{config: config}
	if err := s.connect(); err != nil {
		return nil, err
	}
	durable := true
	for _, setting := range []string{"fsync", "synchronous_commit"} {
		var value string
		if err := s.db.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			s.Close()
			return nil, err
		}
		durable = durable && value == "on"
	}
	s.info = lydite.Info{
		Name: "pgx", Version: version() + ", PostgreSQL " + s.db.PgConn().ParameterStatus("server_version"),
		Guarantee: "optimistic", Isolation: "repeatable read", Durable: durable,
	}
	return s, nil
}

func (s *Session) connect() error {
	db, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	s.db, s.tx = db, nil
	return nil
}

// version is that of pgx in this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/jackc/pgx/v5" {
				return module.Version
			}
		}
	}
	return "v5"
}

// Info says what this is.
func (s *Session) Info() lydite.Info { return s.info }

// Close ends the session.
func (s *Session) Close() { s.db.Close(ctx) }

// Reasons to send a transaction again, by the server's codes.
var reasons = map[string]string{"40001": "serialization", "40P01": "deadlock", "55P03": "lock_timeout"}

// Codes, or how they begin, with which the server goes away or takes no connections now.
var unavailable = []string{"08", "40003", "57P01", "57P02", "57P03", "57P05", "53300"}

// explain puts an error into Lydite's words.
func (s *Session) explain(failed *error) {
	err := *failed
	var refused *pgconn.PgError
	switch {
	case err == nil:
	case errors.As(err, &refused):
		if reason, ok := reasons[refused.Code]; ok {
			*failed = &lydite.Aborted{Reason: reason, Detail: refused.Error()}
			return
		}
		for _, code := range unavailable {
			if strings.HasPrefix(refused.Code, code) {
				*failed = &lydite.Unavailable{Detail: refused.Error(), NotCommitted: !s.committing}
			}
		}
	case s.db.IsClosed():
		*failed = &lydite.Unavailable{Detail: err.Error(), NotCommitted: !s.committing || pgconn.SafeToRetry(err)}
	}
}

// begin begins a transaction.
func (s *Session) begin(access pgx.TxAccessMode) error {
	s.committing = false
	tx, err := s.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: access})
	s.tx = tx
	return err
}

func (s *Session) commit() error {
	s.committing = true
	err := s.tx.Commit(ctx)
	s.tx = nil
	return err
}

// Rollback undoes what is not committed. A connection that was lost is made anew: the session outlives it.
func (s *Session) Rollback() {
	if s.tx != nil {
		// If it fails the connection is lost, and the transaction with it.
		_ = s.tx.Rollback(ctx)
		s.tx = nil
	}
	if s.db.IsClosed() {
		// While the server is away the next request fails, and comes here again.
		_ = s.connect()
	}
}

// one reads the only row, which has to be there.
func (s *Session) one(into []any, sql string, values ...any) error {
	err := s.db.QueryRow(ctx, sql, values...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("no row: %s %v: run lydite check", sql, values)
	}
	return err
}

// change runs a statement that has to change exactly one row.
func (s *Session) change(sql string, values ...any) error {
	tag, err := s.db.Exec(ctx, sql, values...)
	if err == nil && tag.RowsAffected() != 1 {
		return fmt.Errorf("%d rows changed instead of 1: %s %v: run lydite check", tag.RowsAffected(), sql, values)
	}
	return err
}
