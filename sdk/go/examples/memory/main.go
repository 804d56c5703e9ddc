// A driver that plays the five transactions, over tables in memory: one writer at a time, and a log from which they come back.
// Replace the bodies of the methods of session by statements of your database; then store.go can go.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	lydite "lydite.dev/driver"
)

// session is what Lydite asks for a transaction at a time. One over a server has a connection here.
type session struct {
	store *store
	// The transaction at hand: how it may read and write, what it has done, and how that is undone.
	locked     access
	done, undo []change
	// The first row that had to be there and was not.
	missing error
	// Rows that come to be loaded.
	loading []change
}

type access int

const (
	idle access = iota
	reads
	writes
)

func (s *session) Info() lydite.Info {
	return lydite.Info{Name: "go-memory", Version: "1", Guarantee: "serializable", Isolation: "one writer at a time"}
}

func (s *session) begin(access access) {
	if access == reads {
		s.store.lock.RLock()
	} else {
		s.store.lock.Lock()
	}
	s.locked, s.done, s.undo, s.missing = access, nil, nil, nil
}

func (s *session) end() {
	switch s.locked {
	case reads:
		s.store.lock.RUnlock()
	case writes:
		s.store.lock.Unlock()
	}
	s.locked = idle
}

func (s *session) commit() error {
	err := s.missing
	if err == nil && len(s.done) > 0 {
		err = s.store.writeChanges(s.done)
	}
	if err != nil {
		s.Rollback()
		return err
	}
	s.end()
	return nil
}

// Rollback undoes what is not committed. Also called after every error.
func (s *session) Rollback() {
	for index := len(s.undo) - 1; index >= 0; index-- {
		s.store.apply(s.undo[index])
	}
	s.undo, s.loading = nil, nil
	s.end()
}

func (s *session) Close() { s.Rollback() }

// find looks for a row by its key.
func (s *session) find(name string, columns ...int64) (row, bool) {
	table, made, warehouse := s.store.named[name], key{}, int64(0)
	copy(made[:], columns)
	if table.Warehouse != "" {
		warehouse = made[0]
	}
	values, ok := table.rows[warehouse][made]
	return row{table, values}, ok
}

// get is a row that has to be there: else the transaction fails when it commits.
func (s *session) get(name string, columns ...int64) row {
	found, ok := s.find(name, columns...)
	if !ok && s.missing == nil {
		s.missing = fmt.Errorf("no row %v in %s: run lydite check", columns, name)
	}
	return found
}

func (s *session) change(c change) {
	s.undo = append(s.undo, s.store.apply(c))
	s.done = append(s.done, c)
}

// put stores a row, new or not.
func (s *session) put(r row) {
	if r.values != nil {
		s.change(change{r.table, s.store.keyOf(r), r.values})
	}
}

// insert stores a row, given as its columns.
func (s *session) insert(name string, columns ...any) {
	s.put(row{s.store.named[name], columns})
}

// The tables.

// Tables gives those that there are.
func (s *session) Tables() ([]string, error) {
	s.begin(reads)
	defer s.end()
	var names []string
	for _, table := range s.store.tables {
		if s.store.created {
			names = append(names, table.Name)
		}
	}
	return names, nil
}

func (s *session) Create() error {
	s.begin(writes)
	defer s.end()
	s.store.created = true
	return s.store.write(int64(entryCreate))
}

func (s *session) Drop() error {
	s.begin(writes)
	defer s.end()
	s.store.empty()
	if err := s.store.file.Truncate(0); err != nil {
		return err
	}
	_, err := s.store.file.Seek(0, 0)
	return err
}

func (s *session) Notes() (map[string]string, error) {
	s.begin(reads)
	defer s.end()
	notes := map[string]string{}
	for name, value := range s.store.notes {
		notes[name] = value
	}
	return notes, nil
}

func (s *session) Note(name, value string) error {
	s.begin(writes)
	defer s.end()
	s.store.notes[name] = value
	return s.store.write(int64(entryNote), name, value)
}

// Loading: the rows of a warehouse wait until all have come, so an interrupted load leaves nothing.

func (s *session) LoadBegin(int64) error {
	s.loading = nil
	return nil
}

func (s *session) Load(name string, rows [][]any) error {
	table := s.store.named[name]
	for _, values := range rows {
		s.loading = append(s.loading, change{table: table, row: values})
	}
	return nil
}

// LoadEnd stores them in the place of what an earlier load may have left.
func (s *session) LoadEnd(wID int64) error {
	s.begin(writes)
	defer s.end()
	s.store.clear(wID)
	if err := s.store.write(int64(entryClear), wID); err != nil {
		return err
	}
	for len(s.loading) > 0 {
		batch := s.loading
		if len(batch) > 10_000 {
			batch = batch[:10_000]
		}
		for index := range batch {
			batch[index].key = s.store.keyOf(row{batch[index].table, batch[index].row})
			s.store.apply(batch[index])
		}
		if err := s.store.writeChanges(batch); err != nil {
			return err
		}
		s.loading = s.loading[len(batch):]
	}
	return nil
}

// The transactions.

func (s *session) NewOrder(order lydite.NewOrder) (*lydite.NewOrderResult, error) {
	w, d, c := order.WID, order.DID, order.CID
	s.begin(writes)
	warehouse, district, customer := s.get("warehouse", w), s.get("district", w, d), s.get("customer", w, d, c)
	oID := district.int("d_next_o_id")
	s.put(district.with("d_next_o_id", oID+1))
	allLocal := int64(0)
	if order.AllLocal() {
		allLocal = 1
	}
	s.insert("orders", oID, d, w, c, order.Now, nil, int64(len(order.Lines)), allLocal)
	s.insert("new_order", oID, d, w)
	result := &lydite.NewOrderResult{
		OID: oID, EntryD: order.Now, CLast: customer.text("c_last"), CCredit: customer.text("c_credit"),
		CDiscount: customer.int("c_discount"), WTax: warehouse.int("w_tax"), DTax: district.int("d_tax"),
	}
	for index, line := range order.Lines {
		item, ok := s.find("item", line.IID)
		if !ok {
			s.Rollback()
			return nil, &lydite.RolledBack{OID: oID, CLast: result.CLast, CCredit: result.CCredit}
		}
		stock := s.get("stock", line.SupplyWID, line.IID)
		left := stock.int("s_quantity") - line.Quantity
		if left < 10 {
			left += 91
		}
		remote := int64(0)
		if line.SupplyWID != w {
			remote = 1
		}
		s.put(stock.with("s_quantity", left).with("s_ytd", stock.int("s_ytd")+line.Quantity).
			with("s_order_cnt", stock.int("s_order_cnt")+1).with("s_remote_cnt", stock.int("s_remote_cnt")+remote))
		amount := item.int("i_price") * line.Quantity
		s.insert("order_line", oID, d, w, int64(index+1), line.IID, line.SupplyWID, nil, line.Quantity, amount,
			stock.text(fmt.Sprintf("s_dist_%02d", d)))
		result.Lines = append(result.Lines, lydite.NewOrderLine{
			IName: item.text("i_name"), SQuantity: left, IPrice: item.int("i_price"), Amount: amount,
			Brand: strings.Contains(item.text("i_data"), "ORIGINAL") && strings.Contains(stock.text("s_data"), "ORIGINAL"),
		})
	}
	result.Total = lydite.OrderTotal(result.Lines, result.CDiscount, result.WTax, result.DTax)
	return result, s.commit()
}

// customer is the customer who is meant.
func (s *session) customer(w, d int64, who lydite.Customer) row {
	c := who.ID
	if found := s.store.byName[named{w, d, who.Last}]; c == 0 && len(found) > 0 {
		c = found[(len(found)+1)/2-1]
	}
	return s.get("customer", w, d, c)
}

func (s *session) Payment(payment lydite.Payment) (*lydite.PaymentResult, error) {
	w, d, amount := payment.WID, payment.DID, payment.Amount
	s.begin(writes)
	warehouse, district := s.get("warehouse", w), s.get("district", w, d)
	s.put(warehouse.with("w_ytd", warehouse.int("w_ytd")+amount))
	s.put(district.with("d_ytd", district.int("d_ytd")+amount))
	customer := s.customer(payment.CWID, payment.CDID, payment.Customer)
	customer = customer.with("c_balance", customer.int("c_balance")-amount).
		with("c_ytd_payment", customer.int("c_ytd_payment")+amount).with("c_payment_cnt", customer.int("c_payment_cnt")+1)
	c := customer.int("c_id")
	var shown *string
	if customer.text("c_credit") == "BC" {
		data := fmt.Sprintf("%d %d %d %d %d %d.%02d|", c, payment.CDID, payment.CWID, d, w, amount/100, amount%100)
		data = cut(data+customer.text("c_data"), 500)
		customer = customer.with("c_data", data)
		data = cut(data, 200)
		shown = &data
	}
	s.put(customer)
	s.insert("history", c, payment.CDID, payment.CWID, d, w, payment.Now, amount,
		warehouse.text("w_name")+"    "+district.text("d_name"))
	return &lydite.PaymentResult{
		HDate: payment.Now, Warehouse: address(warehouse, "w"), District: address(district, "d"),
		Address: address(customer, "c"), CID: c, CFirst: customer.text("c_first"), CMiddle: customer.text("c_middle"),
		CLast: customer.text("c_last"), CPhone: customer.text("c_phone"), CSince: customer.int("c_since"),
		CCredit: customer.text("c_credit"), CCreditLim: customer.int("c_credit_lim"), CDiscount: customer.int("c_discount"),
		CBalance: customer.int("c_balance"), CData: shown,
	}, s.commit()
}

func address(r row, prefix string) lydite.Address {
	return lydite.Address{
		Street1: r.text(prefix + "_street_1"), Street2: r.text(prefix + "_street_2"), City: r.text(prefix + "_city"),
		State: r.text(prefix + "_state"), Zip: r.text(prefix + "_zip"),
	}
}

// cut leaves at most so many characters.
func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most])
	}
	return text
}

func (s *session) OrderStatus(query lydite.OrderStatus) (*lydite.OrderStatusResult, error) {
	w, d := query.WID, query.DID
	s.begin(reads)
	customer := s.customer(w, d, query.Customer)
	orders := s.store.ofCustomer[key{w, d, customer.int("c_id")}]
	if len(orders) == 0 {
		s.Rollback()
		return nil, fmt.Errorf("no order of customer %d in district %d/%d: run lydite check", customer.int("c_id"), w, d)
	}
	order := s.get("orders", w, d, orders[len(orders)-1])
	result := &lydite.OrderStatusResult{
		CID: customer.int("c_id"), CFirst: customer.text("c_first"), CMiddle: customer.text("c_middle"),
		CLast: customer.text("c_last"), CBalance: customer.int("c_balance"), OID: order.int("o_id"),
		EntryD: order.int("o_entry_d"), CarrierID: optional(order, "o_carrier_id"),
	}
	for number := int64(1); number <= order.int("o_ol_cnt"); number++ {
		line := s.get("order_line", w, d, result.OID, number)
		result.Lines = append(result.Lines, lydite.OrderStatusLine{
			IID: line.int("ol_i_id"), SupplyWID: line.int("ol_supply_w_id"), Quantity: line.int("ol_quantity"),
			Amount: line.int("ol_amount"), DeliveryD: optional(line, "ol_delivery_d"),
		})
	}
	return result, s.commit()
}

func optional(r row, column string) *int64 {
	if value, ok := r.at(column).(int64); ok {
		return &value
	}
	return nil
}

func (s *session) Delivery(delivery lydite.Delivery) ([]lydite.Delivered, error) {
	w := delivery.WID
	var delivered []lydite.Delivered
	s.begin(writes)
	for d := int64(1); d <= 10; d++ {
		waiting := s.store.undelivered[key{w, d}]
		if len(waiting) == 0 {
			continue
		}
		oID := waiting[0]
		s.change(change{s.store.named["new_order"], key{w, d, oID}, nil})
		order := s.get("orders", w, d, oID)
		s.put(order.with("o_carrier_id", delivery.CarrierID))
		amount := int64(0)
		for number := int64(1); number <= order.int("o_ol_cnt"); number++ {
			line := s.get("order_line", w, d, oID, number)
			s.put(line.with("ol_delivery_d", delivery.Now))
			amount += line.int("ol_amount")
		}
		customer := s.get("customer", w, d, order.int("o_c_id"))
		s.put(customer.with("c_balance", customer.int("c_balance")+amount).
			with("c_delivery_cnt", customer.int("c_delivery_cnt")+1))
		delivered = append(delivered, lydite.Delivered{DID: d, OID: oID})
	}
	return delivered, s.commit()
}

func (s *session) StockLevel(query lydite.StockLevel) (int64, error) {
	w, d := query.WID, query.DID
	s.begin(reads)
	next := s.get("district", w, d).int("d_next_o_id")
	low := map[int64]bool{}
	for oID := next - 20; oID < next; oID++ {
		order := s.get("orders", w, d, oID)
		for number := int64(1); number <= order.int("o_ol_cnt"); number++ {
			item := s.get("order_line", w, d, oID, number).int("ol_i_id")
			if s.get("stock", w, item).int("s_quantity") < query.Threshold {
				low[item] = true
			}
		}
	}
	return int64(len(low)), s.commit()
}

// Reading back.

func (s *session) Snapshot() error {
	s.begin(reads)
	return nil
}

func (s *session) Release() error {
	s.end()
	return nil
}

func (s *session) Read(name string, wID int64) (lydite.Rows, error) {
	table := s.store.named[name]
	return func(each func([]any) error) error {
		for warehouse, rows := range table.rows {
			if wID != 0 && warehouse != wID {
				continue
			}
			for _, values := range rows {
				if err := each(values); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

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
	lydite.ServeDriver(func() (lydite.Driver, error) { return &session{store: store}, nil })
}
