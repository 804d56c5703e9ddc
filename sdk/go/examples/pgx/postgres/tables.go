package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	lydite "lydite.dev/driver"
)

// Indexes beside the primary keys.
var indexes = []string{
	"CREATE INDEX IF NOT EXISTS customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)",
	"CREATE INDEX IF NOT EXISTS orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
}

// Tables gives those of the nine that there are.
func (s *Session) Tables() (found []string, err error) {
	defer s.explain(&err)
	for _, table := range lydite.Tables {
		var there bool
		if err := s.db.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table.Name).Scan(&there); err != nil {
			return nil, err
		}
		if there {
			found = append(found, table.Name)
		}
	}
	return found, nil
}

// Create makes the tables; their keys come after the rows.
func (s *Session) Create() (err error) {
	defer s.explain(&err)
	_, err = s.db.Exec(ctx, schema)
	return err
}

// Drop drops them.
func (s *Session) Drop() (err error) {
	defer s.explain(&err)
	names := []string{"lydite_meta", "lydite_load"}
	for _, table := range lydite.Tables {
		names = append(names, table.Name)
	}
	_, err = s.db.Exec(ctx, "DROP TABLE IF EXISTS "+strings.Join(names, ", ")+" CASCADE")
	return err
}

// Notes gives Lydite's notes.
func (s *Session) Notes() (notes map[string]string, err error) {
	defer s.explain(&err)
	var there bool
	if err := s.one([]any{&there}, "SELECT to_regclass('lydite_meta') IS NOT NULL"); err != nil || !there {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT name, value FROM lydite_meta")
	if err != nil {
		return nil, err
	}
	notes = map[string]string{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		notes[name] = value
		return nil
	})
	return notes, err
}

// Note stores a note.
func (s *Session) Note(name, value string) (err error) {
	defer s.explain(&err)
	_, err = s.db.Exec(ctx, "INSERT INTO lydite_meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		name, value)
	return err
}

// LoadBegin begins the transaction in which a warehouse, or ITEM, is loaded. Rows can be there already only if an earlier
// load was committed and Lydite did not hear of it.
func (s *Session) LoadBegin(wID int64) (err error) {
	defer s.explain(&err)
	if err := s.begin(pgx.ReadWrite); err != nil {
		return err
	}
	var loaded bool
	if err := s.one([]any{&loaded}, "SELECT EXISTS (SELECT FROM lydite_load WHERE unit = $1)", wID); err != nil || !loaded {
		return err
	}
	for _, table := range lydite.Tables {
		switch {
		case wID == 0 && table.Warehouse == "":
			_, err = s.db.Exec(ctx, "DELETE FROM "+table.Name)
		case wID > 0 && table.Warehouse != "":
			_, err = s.db.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s = $1", table.Name, table.Warehouse), wID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Load copies rows.
func (s *Session) Load(name string, rows [][]any) (err error) {
	defer s.explain(&err)
	table := lydite.TableOf(name)
	if table == nil {
		return fmt.Errorf("there is no table %s", name)
	}
	names := make([]string, len(table.Columns))
	for index, column := range table.Columns {
		names[index] = column.Name
	}
	for _, row := range rows {
		if len(row) != len(names) {
			return fmt.Errorf("a row of %s has %d columns instead of %d", name, len(row), len(names))
		}
		for index, column := range table.Columns {
			row[index] = stored(column.Kind, row[index])
		}
	}
	_, err = s.db.CopyFrom(ctx, pgx.Identifier{name}, names, pgx.CopyFromRows(rows))
	return err
}

// LoadEnd commits them.
func (s *Session) LoadEnd(wID int64) (err error) {
	defer s.explain(&err)
	if _, err := s.db.Exec(ctx, "INSERT INTO lydite_load VALUES ($1) ON CONFLICT DO NOTHING", wID); err != nil {
		return err
	}
	return s.commit()
}

// FinishLoad makes keys, indexes and statistics. It may be repeated.
func (s *Session) FinishLoad(alive func(string) error) (err error) {
	defer s.explain(&err)
	for _, table := range lydite.Tables {
		if len(table.Key) == 0 {
			continue
		}
		sql := fmt.Sprintf("CREATE UNIQUE INDEX IF NOT EXISTS %s_key ON %s (%s)", table.Name, table.Name, strings.Join(table.Key, ", "))
		if err := s.patiently(alive, "making keys", sql); err != nil {
			return err
		}
	}
	for _, sql := range indexes {
		if err := s.patiently(alive, "making indexes", sql); err != nil {
			return err
		}
	}
	for _, table := range lydite.Tables {
		// VACUUM too: else the first readers of each page would set its hint bits, and the first run be slower.
		if err := s.patiently(alive, "gathering statistics", "VACUUM (ANALYZE) "+table.Name); err != nil {
			return err
		}
	}
	// Not everybody may, and the next timed one comes anyway.
	_ = s.patiently(alive, "writing a checkpoint", "CHECKPOINT")
	return nil
}

// patiently runs a statement and tells Lydite all the while that it does.
func (s *Session) patiently(alive func(string) error, doing, sql string) error {
	done := make(chan error, 1)
	go func() {
		_, err := s.db.Exec(ctx, sql)
		done <- err
	}()
	ticks := time.NewTicker(sign)
	defer ticks.Stop()
	var silent error
	for {
		select {
		case err := <-done:
			if err == nil {
				err = silent
			}
			return err
		case <-ticks.C:
			if err := alive(doing); err != nil {
				silent = err
			}
		}
	}
}

// Snapshot begins reading.
func (s *Session) Snapshot() (err error) {
	defer s.explain(&err)
	return s.begin(pgx.ReadOnly)
}

// Release ends reading.
func (s *Session) Release() error {
	s.Rollback()
	return nil
}

// Read gives the rows of a warehouse, or all.
func (s *Session) Read(name string, wID int64) (lydite.Rows, error) {
	table := lydite.TableOf(name)
	if table == nil {
		return nil, fmt.Errorf("there is no table %s", name)
	}
	names := make([]string, len(table.Columns))
	for index, column := range table.Columns {
		names[index] = column.Name
	}
	sql, values := fmt.Sprintf("SELECT %s FROM %s", strings.Join(names, ", "), name), []any{}
	if wID != 0 && table.Warehouse != "" {
		sql, values = sql+fmt.Sprintf(" WHERE %s = $1", table.Warehouse), []any{wID}
	}
	return func(each func([]any) error) (err error) {
		defer s.explain(&err)
		rows, err := s.db.Query(ctx, sql, values...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			row, err := rows.Values()
			if err != nil {
				return err
			}
			for index, column := range table.Columns {
				if row[index], err = shown(column.Kind, row[index]); err != nil {
					return fmt.Errorf("%s: %w", column.Name, err)
				}
			}
			if err := each(row); err != nil {
				// The rest is not wanted, and closing would read all of it.
				if cancelled := s.db.PgConn().CancelRequest(ctx); cancelled != nil {
					return cancelled
				}
				return err
			}
		}
		return rows.Err()
	}, nil
}
