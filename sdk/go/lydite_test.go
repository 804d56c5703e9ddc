package lydite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
)

// fake is a driver whose WAREHOUSE has many rows, and whose orders are rolled back.
type fake struct {
	Driver
	rollbacks int
}

func (f *fake) Info() Info { return Info{Name: "fake", Version: "1", Guarantee: "serializable"} }
func (f *fake) Close()     {}
func (f *fake) Rollback()  { f.rollbacks++ }

func (f *fake) NewOrder(order NewOrder) (*NewOrderResult, error) {
	if order.AllLocal() {
		return nil, &RolledBack{OID: 7, CLast: "BAR", CCredit: "GC"}
	}
	return &NewOrderResult{OID: order.Now, Lines: []NewOrderLine{{IName: "x", Brand: true, Amount: -1}}}, nil
}

func (f *fake) Payment(Payment) (*PaymentResult, error) { panic("no payments") }

func (f *fake) OrderStatus(query OrderStatus) (*OrderStatusResult, error) {
	carrier := query.Customer.ID
	return &OrderStatusResult{CLast: query.Customer.Last, CarrierID: &carrier, Lines: []OrderStatusLine{{}}}, nil
}

func (f *fake) Read(table string, wID int64) (Rows, error) {
	return func(each func([]any) error) error {
		for row := int64(0); row < 2_500; row++ {
			if err := each([]any{row, table, nil}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// client asks a session that is served over a pipe.
type client struct {
	t      *testing.T
	stream net.Conn
	id     int64
}

func (c *client) ask(what string, with map[string]any) map[string]any {
	c.t.Helper()
	c.id++
	body, err := appendValue(nil, map[string]any{"id": c.id, "do": what, "with": with})
	if err != nil {
		c.t.Fatal(err)
	}
	message := append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	if _, err := c.stream.Write(message); err != nil {
		c.t.Fatal(err)
	}
	var head [4]byte
	if _, err := io.ReadFull(c.stream, head[:]); err != nil {
		c.t.Fatal(err)
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c.stream, body); err != nil {
		c.t.Fatal(err)
	}
	decoder := decoder{data: body}
	answer, err := decoder.value()
	if err != nil || len(decoder.data) > 0 {
		c.t.Fatal(err, decoder.data)
	}
	found := answer.(map[string]any)
	if found["id"] != c.id {
		c.t.Fatalf("answered %v to %d", found["id"], c.id)
	}
	return found
}

func connect(t *testing.T, driver Driver) *client {
	ours, theirs := net.Pipe()
	go run("transactions", theirs, theirs, func() (session, error) { return &driverSession{driver: driver}, nil })
	t.Cleanup(func() { ours.Close() })
	c := &client{t: t, stream: ours}
	hello := c.ask("hello", map[string]any{"protocol": 1, "lydite": "test"})["ok"].(map[string]any)
	if hello["protocol"] != int64(1) || hello["way"] != "transactions" || hello["sessions"] != int64(0) {
		t.Fatal(hello)
	}
	return c
}

// log is a store that notes how it is written to; several writes at once if it is a bulk.
type log struct {
	Store
	said []string
}

type bulk struct{ *log }

func (l *log) note(what string, write Write) error {
	l.said = append(l.said, fmt.Sprintf("%s %s/%s %q %t", what, write.Table, write.Key, write.Value, write.Value == nil))
	return nil
}

func (l *log) Begin(string) error { return nil }
func (l *log) Put(table string, key, value []byte) error {
	return l.note("put", Write{table, key, value})
}
func (l *log) Delete(table string, key []byte) error { return l.note("delete", Write{table, key, nil}) }

func (b bulk) Write(writes []Write) error {
	for _, write := range writes {
		b.note("write", write)
	}
	return nil
}

func TestWritesComeTogetherWhereAStoreTakesThemSo(t *testing.T) {
	writes := []any{[]any{"t", []byte("k"), []byte{}}, []any{"u", []byte("l"), nil}}
	for _, of := range []struct {
		store func(*log) Store
		said  []string
	}{
		{func(l *log) Store { return l }, []string{`put t/k "" false`, `delete u/l "" true`}},
		{func(l *log) Store { return bulk{l} }, []string{`write t/k "" false`, `write u/l "" true`}},
	} {
		noted := &log{}
		session := &storeSession{store: of.store(noted)}
		if _, err := session.handle("write", fields{"begin": "load", "writes": writes}, nil); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(noted.said, of.said) {
			t.Fatal(noted.said)
		}
	}
}

func TestTransactionsAreAnsweredOrRefusedInTheWordsOfTheProtocol(t *testing.T) {
	driver := &fake{}
	c := connect(t, driver)
	line := func(supply int64) map[string]any {
		return map[string]any{"i_id": int64(1), "supply_w_id": supply, "quantity": int64(2)}
	}
	order := map[string]any{"w_id": int64(1), "d_id": int64(2), "c_id": int64(3), "now": int64(1) << 50}
	order["lines"] = []any{line(1)}
	refused := c.ask("new_order", order)["error"].(map[string]any)
	if refused["kind"] != "rolled_back" || refused["order"].(map[string]any)["c_last"] != "BAR" {
		t.Fatal(refused)
	}
	order["lines"] = []any{line(1), line(9)}
	answer := c.ask("new_order", order)["ok"].(map[string]any)
	if answer["o_id"] != int64(1)<<50 || answer["lines"].([]any)[0].(map[string]any)["amount"] != int64(-1) {
		t.Fatal(answer)
	}
	status := map[string]any{"w_id": int64(1), "d_id": int64(2), "c_id": int64(9), "c_last": nil}
	answer = c.ask("order_status", status)["ok"].(map[string]any)
	shown := answer["lines"].([]any)[0].(map[string]any)
	if answer["carrier_id"] != int64(9) || shown["delivery_d"] != nil {
		t.Fatal(answer)
	}
	// A panic is an error of this request alone.
	payment := map[string]any{}
	for _, name := range []string{"w_id", "d_id", "c_w_id", "c_d_id", "h_amount", "now"} {
		payment[name] = int64(1)
	}
	refused = c.ask("payment", payment)["error"].(map[string]any)
	if refused["kind"] != "fatal" || refused["detail"] != "panic: no payments" {
		t.Fatal(refused)
	}
	refused = c.ask("dance", map[string]any{})["error"].(map[string]any)
	if refused["kind"] != "unsupported" || driver.rollbacks != 3 {
		t.Fatal(refused, driver.rollbacks)
	}
}

// stumbling is a store whose commit ends with an error, or with a panic.
type stumbling struct {
	Store
	err error
}

func (s *stumbling) Info() Info {
	return Info{Name: "stumbling", Version: "1", Guarantee: "serializable"}
}
func (s *stumbling) Close()             {}
func (s *stumbling) Begin(string) error { return nil }
func (s *stumbling) Abort()             { panic("no abort") }

func (s *stumbling) Put(table string, key, value []byte) error {
	if len(key) == 0 {
		return errors.New("no key")
	}
	return nil
}

func (s *stumbling) Commit() error {
	if s.err == nil {
		panic("no commit")
	}
	return s.err
}

func TestAnUnknownErrorLeavesOpenWhatCameOfACommit(t *testing.T) {
	for _, each := range []struct {
		err             error
		key             []byte
		kind, committed any
	}{
		{nil, []byte{1}, "unavailable", "unknown"},
		{errors.New("broken"), []byte{1}, "unavailable", "unknown"},
		{&Unavailable{Detail: "gone", NotCommitted: true}, []byte{1}, "unavailable", "no"},
		{&Fatal{"a constraint"}, []byte{1}, "fatal", nil},
		// It never came to the commit.
		{errors.New("broken"), []byte{}, "fatal", nil},
	} {
		ours, theirs := net.Pipe()
		store := &stumbling{err: each.err}
		go run("key-value", theirs, theirs, func() (session, error) { return &storeSession{store: store}, nil })
		c := &client{t: t, stream: ours}
		c.ask("hello", map[string]any{"protocol": 1, "lydite": "test"})
		writes := []any{[]any{"stock", each.key, []byte{2}}}
		refused := c.ask("commit", map[string]any{"begin": "write", "writes": writes})["error"].(map[string]any)
		if refused["kind"] != each.kind || refused["committed"] != each.committed {
			t.Fatal(each, refused)
		}
		ours.Close()
	}
}

func TestRowsComeInBatchesUntilNoMoreAreWanted(t *testing.T) {
	c := connect(t, &fake{})
	read := map[string]any{"table": "warehouse", "w_id": nil}
	rows := 0
	answer := c.ask("read", read)["ok"].(map[string]any)
	for {
		rows += len(answer["rows"].([]any))
		if answer["more"] == false {
			break
		}
		answer = c.ask("next", nil)["ok"].(map[string]any)
	}
	if rows != 2_500 {
		t.Fatal(rows)
	}
	// Given up in the middle, and read again from the beginning.
	c.ask("read", read)
	c.ask("stop", nil)
	answer = c.ask("read", read)["ok"].(map[string]any)
	if first := answer["rows"].([]any)[0]; !reflect.DeepEqual(first, []any{int64(0), "warehouse", nil}) {
		t.Fatal(first)
	}
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	long := make([]byte, 70_000)
	for _, value := range []any{
		nil, true, false, int64(0), int64(127), int64(128), int64(-1), int64(-32), int64(-33), int64(1) << 31,
		int64(-1) << 63, "", "Zürich", string(long), []byte{}, []byte{1}, long, []any{}, []any{int64(1), []any{nil}},
		map[string]any{"a": int64(1), "b": []byte{2}},
	} {
		bytes, err := appendValue(nil, value)
		if err != nil {
			t.Fatal(err)
		}
		for end := 0; end < len(bytes); end += 1 + len(bytes)/50 {
			short := decoder{data: bytes[:end]}
			if _, err := short.value(); err == nil {
				t.Fatalf("%v of %d bytes", value, end)
			}
		}
		whole := decoder{data: bytes}
		if back, err := whole.value(); err != nil || !reflect.DeepEqual(back, value) {
			t.Fatalf("%v came back as %v: %v", value, back, err)
		}
	}
	if _, err := appendValue(nil, 1.5); err == nil {
		t.Fatal("a float is no amount of money")
	}
}

func TestAnOrderTotalIsRoundedOnceHalfAwayFromZero(t *testing.T) {
	lines := func(amount int64) []NewOrderLine { return []NewOrderLine{{Amount: amount}} }
	for _, each := range [][5]int64{{10_000, 500, 1_000, 500, 10_925}, {1, 5_000, 0, 0, 1}, {1, 5_001, 0, 0, 0}} {
		if total := OrderTotal(lines(each[0]), each[1], each[2], each[3]); total != each[4] {
			t.Fatal(each, total)
		}
	}
}

func TestTheTablesAreThoseOfTheProtocol(t *testing.T) {
	text, err := os.ReadFile("../../docs/src/driver-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range Tables {
		names := make([]string, len(table.Columns))
		for index, column := range table.Columns {
			names[index] = column.Name
			if column.Nullable != (column.Name == "o_carrier_id" || column.Name == "ol_delivery_d") {
				t.Fatal(column)
			}
		}
		key := strings.Join(table.Key, ", ")
		if key == "" {
			key = "none"
		}
		line := "| `" + table.Name + "` | " + strings.Join(names, ", ") + " | " + key + " |\n"
		line = strings.Replace(line, "s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09",
			"s_dist_01 …", 1)
		line = strings.Replace(line, "…, s_dist_10", "… s_dist_10", 1)
		if !strings.Contains(string(text), line) {
			t.Fatal("the protocol has no line ", line)
		}
		if TableOf(table.Name) == nil || TableOf("x") != nil {
			t.Fatal(table.Name)
		}
	}
}
