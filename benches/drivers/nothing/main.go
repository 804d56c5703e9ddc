// A driver that answers at once and stores nothing but notes: what is left is the protocol. With RECORD, a directory, it keeps
// what each session was asked.
package main

import (
	"os"
	"strings"
	"sync"

	"lydite.dev/benches/drivers/inputs"
	lydite "lydite.dev/driver"
)

// What all sessions share.
var (
	lock    sync.Mutex
	notes   = map[string]string{}
	playing int
)

var text = strings.Repeat("x", 20)

// session stands for a database that has everything already.
type session struct {
	recorder *inputs.Recorder
}

func (s *session) Info() lydite.Info {
	return lydite.Info{Name: "nothing", Version: "Go", Guarantee: "none"}
}

func (s *session) Tables() ([]string, error)  { return nil, nil }
func (s *session) Create() error              { return nil }
func (s *session) LoadBegin(int64) error      { return nil }
func (s *session) Load(string, [][]any) error { return nil }
func (s *session) LoadEnd(int64) error        { return nil }
func (s *session) Rollback()                  {}
func (s *session) Snapshot() error            { return nil }
func (s *session) Release() error             { return nil }
func (s *session) Read(string, int64) (lydite.Rows, error) {
	return func(func([]any) error) error { return nil }, nil
}

func (s *session) Drop() error {
	lock.Lock()
	defer lock.Unlock()
	notes = map[string]string{}
	return nil
}

func (s *session) Notes() (map[string]string, error) {
	lock.Lock()
	defer lock.Unlock()
	copied := map[string]string{}
	for name, value := range notes {
		copied[name] = value
	}
	return copied, nil
}

func (s *session) Note(name, value string) error {
	lock.Lock()
	defer lock.Unlock()
	notes[name] = value
	return nil
}

// keep records a transaction if that is wanted; a session is counted when it plays its first one.
func (s *session) keep(transaction inputs.Transaction) error {
	directory := os.Getenv("RECORD")
	if directory == "" {
		return nil
	}
	if s.recorder == nil {
		lock.Lock()
		number := playing
		playing++
		lock.Unlock()
		recorder, err := inputs.Record(directory, number)
		if err != nil {
			return err
		}
		s.recorder = recorder
	}
	return s.recorder.Keep(transaction)
}

func (s *session) Close() {
	if s.recorder != nil {
		if err := s.recorder.Close(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
		}
	}
}

func (s *session) NewOrder(order lydite.NewOrder) (*lydite.NewOrderResult, error) {
	if err := s.keep(order); err != nil {
		return nil, err
	}
	for _, line := range order.Lines {
		if line.IID > 100_000 {
			return nil, &lydite.RolledBack{OID: 3001, CLast: text[:16], CCredit: "GC"}
		}
	}
	result := &lydite.NewOrderResult{
		OID: 3001, EntryD: order.Now, CLast: text[:16], CCredit: "GC", CDiscount: 100, WTax: 100, DTax: 100,
		Lines: make([]lydite.NewOrderLine, len(order.Lines)),
	}
	for index, line := range order.Lines {
		result.Lines[index] = lydite.NewOrderLine{IName: text, SQuantity: 50, IPrice: 5_000, Amount: 5_000 * line.Quantity}
	}
	result.Total = lydite.OrderTotal(result.Lines, 100, 100, 100)
	return result, nil
}

func (s *session) Payment(payment lydite.Payment) (*lydite.PaymentResult, error) {
	if err := s.keep(payment); err != nil {
		return nil, err
	}
	address := lydite.Address{Street1: text, Street2: text, City: text, State: "xx", Zip: "123411111"}
	c := payment.Customer.ID
	if c == 0 {
		c = 1
	}
	return &lydite.PaymentResult{
		HDate: payment.Now, Warehouse: address, District: address, Address: address, CID: c, CFirst: text[:16], CMiddle: "OE",
		CLast: text[:16], CPhone: text[:16], CSince: payment.Now, CCredit: "GC", CCreditLim: 5_000_000, CDiscount: 100,
		CBalance: -1_000,
	}, nil
}

func (s *session) OrderStatus(query lydite.OrderStatus) (*lydite.OrderStatusResult, error) {
	if err := s.keep(query); err != nil {
		return nil, err
	}
	c := query.Customer.ID
	if c == 0 {
		c = 1
	}
	lines := make([]lydite.OrderStatusLine, 10)
	for index := range lines {
		lines[index] = lydite.OrderStatusLine{IID: 1, SupplyWID: 1, Quantity: 5, Amount: 5_000}
	}
	return &lydite.OrderStatusResult{
		CID: c, CFirst: text[:16], CMiddle: "OE", CLast: text[:16], CBalance: -1_000, OID: 3000, EntryD: 1, Lines: lines,
	}, nil
}

func (s *session) Delivery(delivery lydite.Delivery) ([]lydite.Delivered, error) {
	if err := s.keep(delivery); err != nil {
		return nil, err
	}
	delivered := make([]lydite.Delivered, 10)
	for index := range delivered {
		delivered[index] = lydite.Delivered{DID: int64(index + 1), OID: 2101}
	}
	return delivered, nil
}

func (s *session) StockLevel(query lydite.StockLevel) (int64, error) {
	return 10, s.keep(query)
}

func main() {
	lydite.ServeDriver(func() (lydite.Driver, error) { return &session{}, nil })
}
