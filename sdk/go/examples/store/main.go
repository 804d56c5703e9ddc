// A key-value driver: ordered maps in memory, one writer at a time, and a log from which they come back. Replace the
// methods of session by calls of your store.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	lydite "lydite.dev/driver"
)

// write is what a transaction does to a key; without a value it removes it.
type write struct {
	table string
	key   []byte
	value []byte
	put   bool
}

// store is what all sessions share.
type store struct {
	// Held by the transaction that writes, or by those that read.
	lock   sync.RWMutex
	tables map[string]*list
	log    *bufio.Writer
}

func (s *store) table(name string) *list {
	table, ok := s.tables[name]
	if !ok {
		table = newList()
		s.tables[name] = table
	}
	return table
}

// apply does a write and gives the one that undoes it.
func (s *store) apply(w write) write {
	table := s.table(w.table)
	old, there := table.get(w.key)
	if w.put {
		table.put(w.key, w.value)
	} else {
		table.remove(w.key)
	}
	return write{w.table, w.key, old, there}
}

// open reads the log. A transaction at its end that is not whole was never acknowledged.
func open(path string) (*store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	s := &store{tables: map[string]*list{}}
	reader := bufio.NewReaderSize(file, 1<<20)
	var whole int64
	for {
		writes, size, err := readCommit(reader)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, w := range writes {
			s.apply(w)
		}
		whole += size
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

// A commit in the log: how many bytes, and the writes in them.
func appendCommit(writes []write) []byte {
	out := make([]byte, 4)
	text := func(value []byte) {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(value))), value...)
	}
	for _, w := range writes {
		put := byte(0)
		if w.put {
			put = 1
		}
		out = append(out, put)
		text([]byte(w.table))
		text(w.key)
		text(w.value)
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

func readCommit(reader io.Reader) ([]write, int64, error) {
	var head [4]byte
	if _, err := io.ReadFull(reader, head[:]); err != nil {
		return nil, 0, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(reader, body); err != nil {
		return nil, 0, err
	}
	size := int64(4 + len(body))
	var writes []write
	for len(body) > 0 {
		put := body[0] == 1
		body = body[1:]
		var parts [3][]byte
		for index := range parts {
			if len(body) < 4 || len(body)-4 < int(binary.BigEndian.Uint32(body)) {
				return nil, 0, fmt.Errorf("the log is damaged")
			}
			end := 4 + int(binary.BigEndian.Uint32(body))
			parts[index], body = body[4:end:end], body[end:]
		}
		writes = append(writes, write{string(parts[0]), parts[1], parts[2], put})
	}
	return writes, size, nil
}

// session plays one transaction at a time.
type session struct {
	store  *store
	access string
	done   []write
	undo   []write
}

func (s *session) Info() lydite.Info {
	return lydite.Info{Name: "go-memory", Version: "1", Guarantee: "serializable", Isolation: "one writer at a time"}
}

func (s *session) Begin(access string) error {
	if access == "read" {
		s.store.lock.RLock()
	} else {
		s.store.lock.Lock()
	}
	s.access, s.done, s.undo = access, nil, nil
	return nil
}

func (s *session) end() {
	switch s.access {
	case "":
	case "read":
		s.store.lock.RUnlock()
	default:
		s.store.lock.Unlock()
	}
	s.access = ""
}

func (s *session) Get(table string, key []byte) ([]byte, error) {
	if found, ok := s.store.tables[table]; ok {
		if value, ok := found.get(key); ok {
			return value, nil
		}
	}
	return nil, nil
}

func (s *session) write(w write) error {
	s.undo = append(s.undo, s.store.apply(w))
	s.done = append(s.done, w)
	return nil
}

func (s *session) Put(table string, key, value []byte) error {
	return s.write(write{table, key, value, true})
}

func (s *session) Delete(table string, key []byte) error {
	return s.write(write{table, key, nil, false})
}

func (s *session) Scan(table string, from, below []byte, limit int, backward bool) ([]lydite.Entry, error) {
	if found, ok := s.store.tables[table]; ok {
		return found.scan(from, below, limit, backward), nil
	}
	return nil, nil
}

func (s *session) Commit() error {
	defer s.end()
	if len(s.done) == 0 {
		return nil
	}
	if _, err := s.store.log.Write(appendCommit(s.done)); err != nil {
		s.rollBack()
		return err
	}
	if err := s.store.log.Flush(); err != nil {
		s.rollBack()
		return err
	}
	return nil
}

func (s *session) rollBack() {
	for index := len(s.undo) - 1; index >= 0; index-- {
		s.store.apply(s.undo[index])
	}
}

func (s *session) Abort() {
	if s.access != "" {
		s.rollBack()
		s.end()
	}
}

func (s *session) Close() { s.Abort() }

func main() {
	path := os.Getenv("STORE_FILE")
	if path == "" {
		program, err := os.Executable()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		path = filepath.Join(filepath.Dir(program), "store.log")
	}
	store, err := open(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lydite.ServeStore(func() (lydite.Store, error) { return &session{store: store}, nil })
}
