package lydite

import "math/big"

// NewOrder is the input of New-Order (clause 2.4.1). Now is Lydite's clock, for databases without one.
type NewOrder struct {
	WID, DID, CID int64
	Lines         []OrderLine
	Now           int64
}

// OrderLine is a line of an order as it is entered.
type OrderLine struct {
	IID, SupplyWID, Quantity int64
}

// AllLocal says whether the home warehouse supplies every line.
func (o NewOrder) AllLocal() bool {
	for _, line := range o.Lines {
		if line.SupplyWID != o.WID {
			return false
		}
	}
	return true
}

// Customer is who pays or asks: by ID, or if that is 0 by Last: of n customers with that name, ordered by C_FIRST, the one
// at position n/2 rounded up, counted from 1.
type Customer struct {
	ID   int64
	Last string
}

// Payment is the input of Payment (clause 2.5.1); Amount in cents.
type Payment struct {
	WID, DID, CWID, CDID int64
	Customer             Customer
	Amount               int64
	Now                  int64
}

// OrderStatus is the input of Order-Status (clause 2.6.1).
type OrderStatus struct {
	WID, DID int64
	Customer Customer
}

// Delivery is the input of Delivery (clause 2.7.1).
type Delivery struct {
	WID, CarrierID, Now int64
}

// StockLevel is the input of Stock-Level (clause 2.8.1).
type StockLevel struct {
	WID, DID, Threshold int64
}

// NewOrderResult is the output of New-Order (clause 2.4.3.3): the lines in the order of the input.
type NewOrderResult struct {
	OID, EntryD           int64
	CLast, CCredit        string
	CDiscount, WTax, DTax int64
	Total                 int64
	Lines                 []NewOrderLine
}

// NewOrderLine is a line as the terminal shows it. Brand: I_DATA and S_DATA both contain ORIGINAL.
type NewOrderLine struct {
	IName          string
	SQuantity      int64
	Brand          bool
	IPrice, Amount int64
}

// Address is a postal address.
type Address struct {
	Street1, Street2, City, State, Zip string
}

// PaymentResult is the output of Payment (clause 2.5.3.4). CData has the first 200 characters for bad credit, else nil.
type PaymentResult struct {
	HDate                           int64
	Warehouse, District, Address    Address
	CID                             int64
	CFirst, CMiddle, CLast          string
	CPhone                          string
	CSince                          int64
	CCredit                         string
	CCreditLim, CDiscount, CBalance int64
	CData                           *string
}

// OrderStatusResult is the output of Order-Status (clause 2.6.3.3). CarrierID is nil until the order is delivered.
type OrderStatusResult struct {
	CID                    int64
	CFirst, CMiddle, CLast string
	CBalance               int64
	OID, EntryD            int64
	CarrierID              *int64
	Lines                  []OrderStatusLine
}

// OrderStatusLine is a line of it. DeliveryD is nil until it is delivered.
type OrderStatusLine struct {
	IID, SupplyWID, Quantity, Amount int64
	DeliveryD                        *int64
}

// Delivered is the order that was delivered in a district.
type Delivered struct {
	DID, OID int64
}

// OrderTotal is the total of an order in cents (clause 2.4.2.2), rounded once, half away from zero.
func OrderTotal(lines []NewOrderLine, cDiscount, wTax, dTax int64) int64 {
	var sum int64
	for _, line := range lines {
		sum += line.Amount
	}
	exact := big.NewInt(sum)
	exact.Mul(exact, big.NewInt(10_000-cDiscount)).Mul(exact, big.NewInt(10_000+wTax+dTax))
	half := big.NewInt(50_000_000)
	if exact.Sign() < 0 {
		half.Neg(half)
	}
	return exact.Add(exact, half).Quo(exact, big.NewInt(100_000_000)).Int64()
}

// Rows hands over rows until each gives an error.
type Rows func(each func(row []any) error) error

// Driver is a session of a database that plays the transactions. Rows have their columns in the order of the protocol's
// tables; a column is an int64, a string or nil.
type Driver interface {
	Info() Info
	// Tables gives those of the nine that there are.
	Tables() ([]string, error)
	// Create makes the nine tables, empty, and a place for notes.
	Create() error
	// Drop drops whatever there is of all this.
	Drop() error
	// Notes gives what Note has stored; none when nothing has been created.
	Notes() (map[string]string, error)
	// Note stores a note in the place of an earlier one of that name, for good when it returns.
	Note(name, value string) error
	// LoadBegin: rows of a warehouse come, or those of ITEM (0). What an interrupted load left of them must go.
	LoadBegin(wID int64) error
	Load(table string, rows [][]any) error
	// LoadEnd: all rows have come; they are stored for good when it returns.
	LoadEnd(wID int64) error
	// NewOrder gives *RolledBack for an order with an unused item.
	NewOrder(NewOrder) (*NewOrderResult, error)
	Payment(Payment) (*PaymentResult, error)
	OrderStatus(OrderStatus) (*OrderStatusResult, error)
	// Delivery delivers in all districts in one transaction.
	Delivery(Delivery) ([]Delivered, error)
	StockLevel(StockLevel) (int64, error)
	// Rollback undoes what the session has not committed. Called after every error.
	Rollback()
	// Snapshot and Release: what is read in between is of one state, if the database can.
	Snapshot() error
	Release() error
	// Read gives the rows of a warehouse, or of the whole table if wID is 0, in any order.
	Read(table string, wID int64) (Rows, error)
	Close()
}

// Rows of one answer.
const batch = 1_000

type driverSession struct {
	driver Driver
	// What is read: rows that come from a goroutine, and how to end it.
	rows chan []any
	err  chan error
	stop chan struct{}
}

func (s *driverSession) info() Info { return s.driver.Info() }

func (s *driverSession) close() {
	s.end()
	s.driver.Close()
}

func (s *driverSession) failed() {
	s.end()
	s.driver.Rollback()
}

// end ends reading, and waits until it has.
func (s *driverSession) end() {
	if s.stop != nil {
		close(s.stop)
		for range s.rows {
		}
		<-s.err
		s.stop = nil
	}
}

type stopped struct{}

func (stopped) Error() string { return "no more rows are wanted" }

func (s *driverSession) read(rows Rows) {
	s.rows, s.err, s.stop = make(chan []any, batch), make(chan error, 1), make(chan struct{})
	go func(out chan []any, ended chan error, stop chan struct{}) {
		_, err := attempt(func() (map[string]any, error) {
			return nil, rows(func(row []any) error {
				select {
				case out <- row:
					return nil
				case <-stop:
					return stopped{}
				}
			})
		})
		ended <- err
		close(out)
	}(s.rows, s.err, s.stop)
}

func (s *driverSession) next() (map[string]any, error) {
	rows := make([]any, 0, batch)
	for len(rows) < batch {
		row, more := <-s.rows
		if !more {
			s.stop = nil
			if err := <-s.err; err != nil {
				return nil, err
			}
			return map[string]any{"rows": rows, "more": false}, nil
		}
		rows = append(rows, row)
	}
	return map[string]any{"rows": rows, "more": true}, nil
}

func customer(with fields) Customer {
	id, _ := with["c_id"].(int64)
	last, _ := with["c_last"].(string)
	return Customer{id, last}
}

func (s *driverSession) handle(what string, with fields, alive func(string) error) (map[string]any, error) {
	d := s.driver
	switch what {
	case "state":
		tables, err := d.Tables()
		if err != nil {
			return nil, err
		}
		notes, err := d.Notes()
		names, texts := make([]any, len(tables)), map[string]any{}
		for index, name := range tables {
			names[index] = name
		}
		for name, value := range notes {
			texts[name] = value
		}
		return map[string]any{"tables": names, "notes": texts}, err
	case "create":
		if err := d.Create(); err != nil {
			return nil, err
		}
		notes, _ := with["notes"].(map[string]any)
		for name, value := range notes {
			if err := d.Note(name, value.(string)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	case "drop":
		return nil, d.Drop()
	case "note":
		return nil, d.Note(with.text("name"), with.text("value"))
	case "load_begin":
		return nil, d.LoadBegin(with.int("w_id"))
	case "load":
		given := with.list("rows")
		rows := make([][]any, len(given))
		for index, row := range given {
			rows[index] = row.([]any)
		}
		return nil, d.Load(with.text("table"), rows)
	case "load_end":
		return nil, d.LoadEnd(with.int("w_id"))
	case "load_abort":
		d.Rollback()
		return nil, nil
	case "finish":
		if finisher, ok := d.(Finisher); ok {
			return nil, finisher.FinishLoad(alive)
		}
		return nil, nil
	case "snapshot":
		return nil, d.Snapshot()
	case "release":
		s.end()
		return nil, d.Release()
	case "read":
		s.end()
		wID, _ := with["w_id"].(int64)
		rows, err := d.Read(with.text("table"), wID)
		if err != nil {
			return nil, err
		}
		s.read(rows)
		return s.next()
	case "next":
		return s.next()
	case "stop":
		s.end()
		return nil, nil
	}
	return transaction(d, what, with)
}

func transaction(d Driver, what string, with fields) (map[string]any, error) {
	switch what {
	case "new_order":
		order := NewOrder{WID: with.int("w_id"), DID: with.int("d_id"), CID: with.int("c_id"), Now: with.int("now")}
		for _, each := range with.list("lines") {
			line := fields(each.(map[string]any))
			order.Lines = append(order.Lines, OrderLine{line.int("i_id"), line.int("supply_w_id"), line.int("quantity")})
		}
		result, err := d.NewOrder(order)
		if err != nil {
			return nil, err
		}
		lines := make([]any, len(result.Lines))
		for index, line := range result.Lines {
			lines[index] = map[string]any{
				"i_name": line.IName, "s_quantity": line.SQuantity, "brand": line.Brand, "i_price": line.IPrice,
				"amount": line.Amount,
			}
		}
		return map[string]any{
			"o_id": result.OID, "entry_d": result.EntryD, "c_last": result.CLast, "c_credit": result.CCredit,
			"c_discount": result.CDiscount, "w_tax": result.WTax, "d_tax": result.DTax, "total": result.Total,
			"lines": lines,
		}, nil
	case "payment":
		result, err := d.Payment(Payment{
			WID: with.int("w_id"), DID: with.int("d_id"), CWID: with.int("c_w_id"), CDID: with.int("c_d_id"),
			Customer: customer(with), Amount: with.int("h_amount"), Now: with.int("now"),
		})
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"h_date": result.HDate, "warehouse": result.Warehouse.fields(), "district": result.District.fields(),
			"c_id": result.CID, "c_first": result.CFirst, "c_middle": result.CMiddle, "c_last": result.CLast,
			"address": result.Address.fields(), "c_phone": result.CPhone, "c_since": result.CSince,
			"c_credit": result.CCredit, "c_credit_lim": result.CCreditLim, "c_discount": result.CDiscount,
			"c_balance": result.CBalance, "c_data": result.CData,
		}, nil
	case "order_status":
		result, err := d.OrderStatus(OrderStatus{with.int("w_id"), with.int("d_id"), customer(with)})
		if err != nil {
			return nil, err
		}
		lines := make([]any, len(result.Lines))
		for index, line := range result.Lines {
			lines[index] = map[string]any{
				"i_id": line.IID, "supply_w_id": line.SupplyWID, "quantity": line.Quantity, "amount": line.Amount,
				"delivery_d": line.DeliveryD,
			}
		}
		return map[string]any{
			"c_id": result.CID, "c_first": result.CFirst, "c_middle": result.CMiddle, "c_last": result.CLast,
			"c_balance": result.CBalance, "o_id": result.OID, "entry_d": result.EntryD,
			"carrier_id": result.CarrierID, "lines": lines,
		}, nil
	case "delivery":
		found, err := d.Delivery(Delivery{with.int("w_id"), with.int("o_carrier_id"), with.int("now")})
		if err != nil {
			return nil, err
		}
		delivered := make([]any, len(found))
		for index, each := range found {
			delivered[index] = []any{each.DID, each.OID}
		}
		return map[string]any{"delivered": delivered}, nil
	case "stock_level":
		low, err := d.StockLevel(StockLevel{with.int("w_id"), with.int("d_id"), with.int("threshold")})
		return map[string]any{"low_stock": low}, err
	}
	return nil, &Unsupported{"a driver of transactions has no " + what}
}

func (a Address) fields() map[string]any {
	return map[string]any{
		"street_1": a.Street1, "street_2": a.Street2, "city": a.City, "state": a.State, "zip": a.Zip,
	}
}
