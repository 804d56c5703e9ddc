// Package inputs keeps what a session was asked, in order, so that a loop without Lydite can be asked the same.
package inputs

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	lydite "lydite.dev/driver"
)

// Transaction is one of the five: a lydite.NewOrder, Payment, OrderStatus, Delivery or StockLevel.
type Transaction any

func init() {
	for _, each := range []any{lydite.NewOrder{}, lydite.Payment{}, lydite.OrderStatus{}, lydite.Delivery{}, lydite.StockLevel{}} {
		gob.Register(each)
	}
}

// file is that of a session's transactions; sessions are counted from 0.
func file(directory string, session int) string {
	return filepath.Join(directory, fmt.Sprintf("session-%d", session))
}

// Recorder keeps the transactions of a session.
type Recorder struct {
	file    *os.File
	buffer  *bufio.Writer
	encoder *gob.Encoder
}

// Record begins a file.
func Record(directory string, session int) (*Recorder, error) {
	file, err := os.Create(file(directory, session))
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriterSize(file, 1<<16)
	return &Recorder{file, buffer, gob.NewEncoder(buffer)}, nil
}

// Keep writes a transaction.
func (r *Recorder) Keep(transaction Transaction) error { return r.encoder.Encode(&transaction) }

// Close ends the file.
func (r *Recorder) Close() error {
	if err := r.buffer.Flush(); err != nil {
		return err
	}
	return r.file.Close()
}

// Read gives the transactions of a session.
func Read(directory string, session int) ([]Transaction, error) {
	file, err := os.Open(file(directory, session))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := gob.NewDecoder(bufio.NewReaderSize(file, 1<<20))
	var all []Transaction
	for {
		var transaction Transaction
		err := decoder.Decode(&transaction)
		// The last one may be cut: the driver ends when Lydite does.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		all = append(all, transaction)
	}
}
