package lydite

// Entry is a key and its value.
type Entry struct {
	Key, Value []byte
}

// Store is a session of a store of ordered tables with bytes as keys and values.
type Store interface {
	Info() Info
	// Begin begins a transaction: "read", on one snapshot; "write"; or "load", which writes many and meets nobody else.
	Begin(access string) error
	// Get gives nil for a key that is not there; a value that is empty is not nil.
	Get(table string, key []byte) ([]byte, error)
	// Put writes a key, new or not.
	Put(table string, key, value []byte) error
	// Delete removes a key, which may not be there.
	Delete(table string, key []byte) error
	// Scan gives at most limit entries with from <= key < below (nil: no end), from the least key, or from the greatest if
	// backward.
	Scan(table string, from, below []byte, limit int, backward bool) ([]Entry, error)
	// Commit ends the transaction, all of it stored. It gives *Aborted if it lost against another one, and *Fatal if it is not
	// stored for another reason. After any other error its outcome counts as unknown.
	Commit() error
	// Abort ends the transaction, nothing of it stored. Also called after an error in it.
	Abort()
	// Close ends the session.
	Close()
}

// Write is what is done to a key: it is written, or removed if Value is nil.
type Write struct {
	Table      string
	Key, Value []byte
}

// Writer is a store that can do many writes faster than one by one.
type Writer interface {
	Write(writes []Write) error
}

// WriteEach does writes one by one.
func WriteEach(store Store, writes []Write) error {
	for _, write := range writes {
		var err error
		if write.Value != nil {
			err = store.Put(write.Table, write.Key, write.Value)
		} else {
			err = store.Delete(write.Table, write.Key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Clearer is a store that can remove all keys of a table faster than one by one.
type Clearer interface {
	Clear(table string) error
}

// Finisher is a store or a driver with something to do after loading. alive tells Lydite that it takes its time.
type Finisher interface {
	FinishLoad(alive func(doing string) error) error
}

type storeSession struct {
	store Store
	open  bool
}

func (s *storeSession) info() Info { return s.store.Info() }

func (s *storeSession) close() { s.store.Close() }

func (s *storeSession) failed() {
	if s.open {
		s.open = false
		s.store.Abort()
	}
}

func (s *storeSession) write(with fields) error {
	list := with.list("writes")
	writes := make([]Write, len(list))
	for index, each := range list {
		write := each.([]any)
		value, put := write[2].([]byte)
		if put && value == nil {
			value = []byte{}
		}
		writes[index] = Write{write[0].(string), write[1].([]byte), value}
	}
	if writer, ok := s.store.(Writer); ok && len(writes) > 1 {
		return writer.Write(writes)
	}
	return WriteEach(s.store, writes)
}

// commit tells an error that says nothing of the transaction as one that leaves open what came of it.
func (s *storeSession) commit() error {
	_, err := attempt(func() (map[string]any, error) { return nil, s.store.Commit() })
	if err == nil || isKnown(err) {
		return err
	}
	return &Unavailable{Detail: err.Error()}
}

func (s *storeSession) handle(what string, with fields, alive func(string) error) (map[string]any, error) {
	if access, ok := with["begin"].(string); ok {
		s.open = true
		if err := s.store.Begin(access); err != nil {
			return nil, err
		}
	}
	switch what {
	case "get":
		value, err := s.store.Get(with.text("table"), with.bytes("key"))
		return map[string]any{"value": value}, err
	case "scan":
		from, below := with.bytes("from"), with.bytes("below")
		backward, _ := with["backward"].(bool)
		found, err := s.store.Scan(with.text("table"), from, below, int(with.int("limit")), backward)
		if err != nil {
			return nil, err
		}
		entries := make([]any, len(found))
		for index, entry := range found {
			value := entry.Value
			if value == nil {
				value = []byte{}
			}
			entries[index] = []any{entry.Key, value}
		}
		return map[string]any{"entries": entries}, nil
	case "write":
		return nil, s.write(with)
	case "commit":
		if err := s.write(with); err != nil {
			return nil, err
		}
		if err := s.commit(); err != nil {
			return nil, err
		}
		s.open = false
		return nil, nil
	case "abort":
		s.open = false
		s.store.Abort()
		return nil, nil
	case "clear":
		if clearer, ok := s.store.(Clearer); ok {
			return nil, clearer.Clear(with.text("table"))
		}
	case "finish":
		if finisher, ok := s.store.(Finisher); ok {
			return nil, finisher.FinishLoad(alive)
		}
		return nil, nil
	}
	return nil, &Unsupported{"the store has no " + what}
}
