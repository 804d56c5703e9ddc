package postgres

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	lydite "lydite.dev/driver"
)

// Items of the standard: an order asks for a greater number if it is to be rolled back.
const items = 100_000

// The text for each district: stock has a column for each.
var stock = func() (texts [11]string) {
	for district := range texts {
		texts[district] = fmt.Sprintf("SELECT s_quantity, s_data, s_dist_%02d FROM stock WHERE s_w_id = $1 AND s_i_id = $2 "+
			"FOR NO KEY UPDATE", district)
	}
	return texts
}()

// NewOrder enters an order (clause 2.4.2).
func (s *Session) NewOrder(order lydite.NewOrder) (result *lydite.NewOrderResult, err error) {
	defer s.explain(&err)
	w, d, c := order.WID, order.DID, order.CID
	var wTax, dTax, discount rate
	var entered time.Time
	var oID int64
	shown := &lydite.NewOrderResult{Lines: make([]lydite.NewOrderLine, len(order.Lines))}
	if err := s.begin(pgx.ReadWrite); err != nil {
		return nil, err
	}
	if err := s.one([]any{&wTax, &entered}, "SELECT w_tax, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = $1", w); err != nil {
		return nil, err
	}
	if err := s.one([]any{&discount, &shown.CLast, &shown.CCredit}, "SELECT c_discount, c_last, c_credit FROM customer "+
		"WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3", w, d, c); err != nil {
		return nil, err
	}
	if err := s.one([]any{&dTax, &oID}, "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2 "+
		"FOR NO KEY UPDATE", w, d); err != nil {
		return nil, err
	}
	if err := s.change("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2", w, d); err != nil {
		return nil, err
	}
	allLocal := 0
	if order.AllLocal() {
		allLocal = 1
	}
	if err := s.change("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) "+
		"VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)", oID, d, w, c, entered, len(order.Lines), allLocal); err != nil {
		return nil, err
	}
	if err := s.change("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)", oID, d, w); err != nil {
		return nil, err
	}
	for _, index := range inOrderOfStock(order.Lines) {
		line := order.Lines[index]
		var price cents
		var data, stockData, info string
		var left int64
		entry := &shown.Lines[index]
		err := s.db.QueryRow(ctx, "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1", line.IID).
			Scan(&price, &entry.IName, &data)
		if errors.Is(err, pgx.ErrNoRows) {
			s.Rollback()
			return nil, &lydite.RolledBack{OID: oID, CLast: shown.CLast, CCredit: shown.CCredit}
		}
		if err != nil {
			return nil, err
		}
		if err := s.one([]any{&left, &stockData, &info}, stock[d], line.SupplyWID, line.IID); err != nil {
			return nil, err
		}
		if left -= line.Quantity; left < 10 {
			left += 91
		}
		remote := 0
		if line.SupplyWID != w {
			remote = 1
		}
		if err := s.change("UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, "+
			"s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
			left, line.Quantity, remote, line.SupplyWID, line.IID); err != nil {
			return nil, err
		}
		amount := price * cents(line.Quantity)
		if err := s.change("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, "+
			"ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)",
			oID, d, w, index+1, line.IID, line.SupplyWID, line.Quantity, amount, info); err != nil {
			return nil, err
		}
		entry.SQuantity, entry.IPrice, entry.Amount = left, int64(price), int64(amount)
		entry.Brand = strings.Contains(data, "ORIGINAL") && strings.Contains(stockData, "ORIGINAL")
	}
	if err := s.commit(); err != nil {
		return nil, err
	}
	shown.OID, shown.EntryD = oID, entered.UnixMicro()
	shown.CDiscount, shown.WTax, shown.DTax = int64(discount), int64(wTax), int64(dTax)
	shown.Total = lydite.OrderTotal(shown.Lines, shown.CDiscount, shown.WTax, shown.DTax)
	return shown, nil
}

// inOrderOfStock gives the lines' places in an order that is the same for all sessions, so that two orders do not wait for
// each other in a ring; an unused item comes last, since all others have to be done before the rollback.
func inOrderOfStock(lines []lydite.OrderLine) []int {
	places := make([]int, len(lines))
	for index := range places {
		places[index] = index
	}
	sort.SliceStable(places, func(a, b int) bool {
		one, other := lines[places[a]], lines[places[b]]
		switch {
		case (one.IID > items) != (other.IID > items):
			return other.IID > items
		case one.SupplyWID != other.SupplyWID:
			return one.SupplyWID < other.SupplyWID
		}
		return one.IID < other.IID
	})
	return places
}

// customer is C_ID of the customer who is meant.
func (s *Session) customer(w, d int64, who lydite.Customer) (int64, error) {
	if who.ID != 0 {
		return who.ID, nil
	}
	rows, err := s.db.Query(ctx, "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 "+
		`ORDER BY c_first COLLATE "C", c_id`, w, d, who.Last)
	if err != nil {
		return 0, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("no customer %s in district %d/%d: run lydite check", who.Last, w, d)
	}
	return found[(len(found)+1)/2-1], nil
}

// Payment takes a payment (clause 2.5.2).
func (s *Session) Payment(payment lydite.Payment) (result *lydite.PaymentResult, err error) {
	defer s.explain(&err)
	w, d, amount := payment.WID, payment.DID, cents(payment.Amount)
	if err := s.begin(pgx.ReadWrite); err != nil {
		return nil, err
	}
	c, err := s.customer(payment.CWID, payment.CDID, payment.Customer)
	if err != nil {
		return nil, err
	}
	key := []any{payment.CWID, payment.CDID, c}
	shown := &lydite.PaymentResult{CID: c}
	var since time.Time
	var limit, balance cents
	var discount rate
	if err := s.one(append([]any{&shown.CFirst, &shown.CMiddle, &shown.CLast}, append(places(&shown.Address),
		&shown.CPhone, &since, &shown.CCredit, &limit, &discount, &balance)...),
		"SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, "+
			"c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 "+
			"FOR NO KEY UPDATE", key...); err != nil {
		return nil, err
	}
	if shown.CCredit == "BC" {
		var old string
		if err := s.one([]any{&old}, "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
			key...); err != nil {
			return nil, err
		}
		data := cut(fmt.Sprintf("%d %d %d %d %d %s|", c, payment.CDID, payment.CWID, d, w, amount)+old, 500)
		if err := s.change("UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, "+
			"c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
			append([]any{amount, amount, data}, key...)...); err != nil {
			return nil, err
		}
		data = cut(data, 200)
		shown.CData = &data
	} else if err := s.change("UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, "+
		"c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
		append([]any{amount, amount}, key...)...); err != nil {
		return nil, err
	}
	var dName, wName string
	var paid time.Time
	if err := s.change("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3", amount, w, d); err != nil {
		return nil, err
	}
	if err := s.one(append(places(&shown.District), &dName),
		"SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = $1 AND d_id = $2",
		w, d); err != nil {
		return nil, err
	}
	if err := s.change("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2", amount, w); err != nil {
		return nil, err
	}
	if err := s.one(append(places(&shown.Warehouse), &wName, &paid),
		"SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = $1",
		w); err != nil {
		return nil, err
	}
	if err := s.change("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) "+
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		c, payment.CDID, payment.CWID, d, w, paid, amount, wName+"    "+dName); err != nil {
		return nil, err
	}
	if err := s.commit(); err != nil {
		return nil, err
	}
	shown.HDate, shown.CSince = paid.UnixMicro(), since.UnixMicro()
	shown.CCreditLim, shown.CDiscount, shown.CBalance = int64(limit), int64(discount), int64(balance-amount)
	return shown, nil
}

// places are where the five columns of an address go.
func places(address *lydite.Address) []any {
	return []any{&address.Street1, &address.Street2, &address.City, &address.State, &address.Zip}
}

// cut leaves at most so many characters.
func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most])
	}
	return text
}

// OrderStatus looks at a customer's last order (clause 2.6.2).
func (s *Session) OrderStatus(query lydite.OrderStatus) (result *lydite.OrderStatusResult, err error) {
	defer s.explain(&err)
	w, d := query.WID, query.DID
	if err := s.begin(pgx.ReadOnly); err != nil {
		return nil, err
	}
	c, err := s.customer(w, d, query.Customer)
	if err != nil {
		return nil, err
	}
	shown := &lydite.OrderStatusResult{}
	var balance cents
	var entered time.Time
	if err := s.one([]any{&shown.CID, &shown.CFirst, &shown.CMiddle, &shown.CLast, &balance},
		"SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
		w, d, c); err != nil {
		return nil, err
	}
	if err := s.one([]any{&shown.OID, &entered, &shown.CarrierID},
		"SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 "+
			"ORDER BY o_id DESC LIMIT 1", w, d, c); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "+
		"WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number", w, d, shown.OID)
	if err != nil {
		return nil, err
	}
	shown.Lines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (line lydite.OrderStatusLine, err error) {
		var amount cents
		var delivered *time.Time
		err = row.Scan(&line.IID, &line.SupplyWID, &line.Quantity, &amount, &delivered)
		line.Amount = int64(amount)
		if delivered != nil {
			micros := delivered.UnixMicro()
			line.DeliveryD = &micros
		}
		return line, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.commit(); err != nil {
		return nil, err
	}
	shown.CBalance, shown.EntryD = int64(balance), entered.UnixMicro()
	return shown, nil
}

// Delivery delivers the oldest order of each district (clause 2.7.4).
func (s *Session) Delivery(delivery lydite.Delivery) (delivered []lydite.Delivered, err error) {
	defer s.explain(&err)
	w := delivery.WID
	if err := s.begin(pgx.ReadWrite); err != nil {
		return nil, err
	}
	for d := int64(1); d <= 10; d++ {
		var oID, c int64
		err := s.db.QueryRow(ctx, "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 "+
			"FOR NO KEY UPDATE", w, d).Scan(&oID)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.change("DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3", w, d, oID); err != nil {
			return nil, err
		}
		if err := s.change("UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4",
			delivery.CarrierID, w, d, oID); err != nil {
			return nil, err
		}
		if err := s.one([]any{&c}, "SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3", w, d, oID); err != nil {
			return nil, err
		}
		if _, err := s.db.Exec(ctx, "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP "+
			"WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3", w, d, oID); err != nil {
			return nil, err
		}
		var amount cents
		if err := s.one([]any{&amount}, "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
			w, d, oID); err != nil {
			return nil, err
		}
		if err := s.change("UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 "+
			"WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4", amount, w, d, c); err != nil {
			return nil, err
		}
		delivered = append(delivered, lydite.Delivered{DID: d, OID: oID})
	}
	return delivered, s.commit()
}

// StockLevel counts items that are short (clause 2.8.2).
func (s *Session) StockLevel(query lydite.StockLevel) (low int64, err error) {
	defer s.explain(&err)
	w, d := query.WID, query.DID
	var next int64
	if err := s.begin(pgx.ReadOnly); err != nil {
		return 0, err
	}
	if err := s.one([]any{&next}, "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", w, d); err != nil {
		return 0, err
	}
	if err := s.one([]any{&low}, "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id "+
		"WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_quantity < $5",
		w, d, next-20, next, query.Threshold); err != nil {
		return 0, err
	}
	return low, s.commit()
}
