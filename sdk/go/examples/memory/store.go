package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"

	lydite "lydite.dev/driver"
)

// key has the columns of a primary key, in its order, and zeros behind them. The first one is the warehouse, but for ITEM.
type key [4]int64

// row is a row of a table: its columns are int64, string or nil. It is never changed: with gives another one.
type row struct {
	table  *table
	values []any
}

func (r row) int(column string) int64 {
	value, _ := r.at(column).(int64)
	return value
}

func (r row) text(column string) string {
	value, _ := r.at(column).(string)
	return value
}

func (r row) at(column string) any {
	if r.values == nil {
		return nil
	}
	return r.values[r.table.place[column]]
}

// with gives the row with another value in a column.
func (r row) with(column string, value any) row {
	if r.values != nil {
		r.values = append([]any(nil), r.values...)
		r.values[r.table.place[column]] = value
	}
	return r
}

// table has its rows by warehouse (0 for ITEM) and key.
type table struct {
	lydite.Table
	number int64
	place  map[string]int
	rows   map[int64]map[key][]any
}

// change is a row that is stored, or removed if it is nil.
type change struct {
	table *table
	key   key
	row   []any
}

// store is what all sessions share: tables in memory, and a log from which they come back.
type store struct {
	// Held by the transaction that writes, or by those that read.
	lock    sync.RWMutex
	created bool
	notes   map[string]string
	tables  []*table
	named   map[string]*table
	// Of a district and a last name, the customers by their first names; of a customer, the orders; of a district, the
	// orders that are not delivered. In ascending order.
	byName, ofCustomer, undelivered map[any][]int64
	// For rows of HISTORY, which have no key.
	last int64
	file *os.File
	log  *bufio.Writer
}

func (s *store) empty() {
	s.created, s.notes, s.tables, s.named = false, map[string]string{}, nil, map[string]*table{}
	s.byName, s.ofCustomer, s.undelivered = map[any][]int64{}, map[any][]int64{}, map[any][]int64{}
	for number, each := range lydite.Tables {
		made := &table{each, int64(number), map[string]int{}, map[int64]map[key][]any{}}
		for place, column := range each.Columns {
			made.place[column.Name] = place
		}
		s.tables = append(s.tables, made)
		s.named[each.Name] = made
	}
}

// keyOf gives the key of a row; of HISTORY a new one.
func (s *store) keyOf(r row) (made key) {
	if len(r.table.Key) == 0 {
		s.last++
		return key{r.int(r.table.Warehouse), s.last}
	}
	for index, column := range r.table.Key {
		made[index] = r.int(column)
	}
	return made
}

// apply does a change and gives the one that undoes it.
func (s *store) apply(c change) change {
	warehouse := int64(0)
	if c.table.Warehouse != "" {
		warehouse = c.key[0]
	}
	rows := c.table.rows[warehouse]
	if rows == nil {
		rows = map[key][]any{}
		c.table.rows[warehouse] = rows
	}
	old := rows[c.key]
	if c.row == nil {
		delete(rows, c.key)
	} else {
		rows[c.key] = c.row
	}
	if (old == nil) != (c.row == nil) {
		s.index(c, old)
	}
	return change{c.table, c.key, old}
}

// index keeps what is found by other columns than the key; these columns never change.
func (s *store) index(c change, old []any) {
	values := c.row
	if values == nil {
		values = old
	}
	r, first := row{c.table, values}, ""
	var index map[any][]int64
	var of any
	switch c.table.Name {
	case "customer":
		index, of, first = s.byName, named{c.key[0], c.key[1], r.text("c_last")}, r.text("c_first")
	case "orders":
		index, of = s.ofCustomer, key{c.key[0], c.key[1], r.int("o_c_id")}
	case "new_order":
		index, of = s.undelivered, key{c.key[0], c.key[1]}
	default:
		return
	}
	found, id := index[of], c.key[2]
	at := sort.Search(len(found), func(at int) bool {
		if c.table.Name != "customer" {
			return found[at] >= id
		}
		other := row{c.table, c.table.rows[c.key[0]][key{c.key[0], c.key[1], found[at]}]}.text("c_first")
		if found[at] == id {
			other = first
		}
		return other > first || other == first && found[at] >= id
	})
	if c.row == nil {
		found = append(found[:at], found[at+1:]...)
	} else {
		found = append(found, 0)
		copy(found[at+1:], found[at:])
		found[at] = id
	}
	index[of] = found
}

// named is a district and a last name.
type named struct {
	w, d int64
	last string
}

// clear removes the rows of a warehouse, or of ITEM (0).
func (s *store) clear(w int64) {
	for _, table := range s.tables {
		if (w == 0) == (table.Warehouse == "") {
			for key := range table.rows[w] {
				s.apply(change{table, key, nil})
			}
		}
	}
}

// What the log has, each entry with its values behind.
const (
	entryCreate = iota
	entryNote
	entryClear
	entryChanges
)

// open reads the log. An entry at its end that is not whole was never acknowledged.
func open(path string) (*store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	s := &store{file: file}
	s.empty()
	reader := bufio.NewReaderSize(file, 1<<20)
	var whole int64
	for {
		var head [4]byte
		if _, err := io.ReadFull(reader, head[:]); err != nil {
			break
		}
		body := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(reader, body); err != nil {
			break
		}
		if err := s.replay(body); err != nil {
			return nil, fmt.Errorf("%s, byte %d: %w", path, whole, err)
		}
		whole += int64(4 + len(body))
	}
	if err := file.Truncate(whole); err != nil {
		return nil, err
	}
	if _, err := file.Seek(whole, io.SeekStart); err != nil {
		return nil, err
	}
	s.log = bufio.NewWriterSize(file, 1<<20)
	return s, nil
}

// replay does an entry of the log again.
func (s *store) replay(body []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the log is damaged: remove it")
		}
	}()
	next := func() (value any) {
		value, body = decode(body)
		return value
	}
	switch next().(int64) {
	case entryCreate:
		s.created = true
	case entryNote:
		name := next().(string)
		s.notes[name] = next().(string)
	case entryClear:
		s.clear(next().(int64))
	case entryChanges:
		for len(body) > 0 {
			c := change{table: s.tables[next().(int64)]}
			for place := range c.key {
				c.key[place] = next().(int64)
			}
			if next().(int64) == 1 {
				c.row = make([]any, len(c.table.Columns))
				for place := range c.row {
					c.row[place] = next()
				}
			}
			if c.key[1] > s.last && c.table.Name == "history" {
				s.last = c.key[1]
			}
			s.apply(c)
		}
	}
	return nil
}

// write puts an entry into the log.
func (s *store) write(values ...any) error {
	out := make([]byte, 4)
	for _, value := range values {
		out = encode(out, value)
	}
	return s.writeEntry(out)
}

func (s *store) writeEntry(out []byte) error {
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	if _, err := s.log.Write(out); err != nil {
		return err
	}
	return s.log.Flush()
}

func (s *store) writeChanges(changes []change) error {
	out := encode(make([]byte, 4), int64(entryChanges))
	for _, c := range changes {
		out = encode(out, c.table.number)
		for _, column := range c.key {
			out = encode(out, column)
		}
		if c.row == nil {
			out = encode(out, int64(0))
			continue
		}
		out = encode(out, int64(1))
		for _, value := range c.row {
			out = encode(out, value)
		}
	}
	return s.writeEntry(out)
}

func encode(out []byte, value any) []byte {
	switch value := value.(type) {
	case int64:
		return binary.AppendVarint(append(out, 'i'), value)
	case string:
		return append(binary.AppendUvarint(append(out, 't'), uint64(len(value))), value...)
	}
	return append(out, 'n')
}

// decode gives the first value, and what comes behind it.
func decode(in []byte) (any, []byte) {
	switch in[0] {
	case 'i':
		value, size := binary.Varint(in[1:])
		return value, in[1+size:]
	case 't':
		length, size := binary.Uvarint(in[1:])
		end := 1 + size + int(length)
		return string(in[1+size : end]), in[end:]
	}
	return nil, in[1:]
}
