package lydite

// Kind is what a column holds, and how it comes and goes.
type Kind int

const (
	// Int is a whole number: int64.
	Int Kind = iota
	// Money is whole cents: int64.
	Money
	// Rate is whole ten-thousandths: int64.
	Rate
	// Text is a string.
	Text
	// Time is microseconds since 1970: int64.
	Time
)

// Column is a column of a table. Only a nullable one may be nil.
type Column struct {
	Name     string
	Kind     Kind
	Nullable bool
}

// Table is one of the nine, with its columns in the order in which rows come and go.
type Table struct {
	Name    string
	Columns []Column
	// Key has the columns of the primary key; none for HISTORY.
	Key []string
	// Warehouse is the column with the warehouse; empty for ITEM, which belongs to none.
	Warehouse string
}

// TableOf gives the table of a name; nil if it is none of the nine.
func TableOf(name string) *Table {
	for index := range Tables {
		if Tables[index].Name == name {
			return &Tables[index]
		}
	}
	return nil
}

func columns(kind Kind, names ...string) []Column {
	made := make([]Column, len(names))
	for index, name := range names {
		made[index] = Column{Name: name, Kind: kind}
	}
	return made
}

func nullable(kind Kind, name string) []Column { return []Column{{name, kind, true}} }

func address(prefix string) []Column {
	return columns(Text, prefix+"_street_1", prefix+"_street_2", prefix+"_city", prefix+"_state", prefix+"_zip")
}

func row(parts ...[]Column) []Column {
	var all []Column
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// Tables are the nine, those that others refer to before these.
var Tables = []Table{
	{"item", row(columns(Int, "i_id", "i_im_id"), columns(Text, "i_name"), columns(Money, "i_price"), columns(Text, "i_data")),
		[]string{"i_id"}, ""},
	{"warehouse", row(columns(Int, "w_id"), columns(Text, "w_name"), address("w"), columns(Rate, "w_tax"), columns(Money, "w_ytd")),
		[]string{"w_id"}, "w_id"},
	{"district", row(columns(Int, "d_id", "d_w_id"), columns(Text, "d_name"), address("d"), columns(Rate, "d_tax"),
		columns(Money, "d_ytd"), columns(Int, "d_next_o_id")),
		[]string{"d_w_id", "d_id"}, "d_w_id"},
	{"customer", row(columns(Int, "c_id", "c_d_id", "c_w_id"), columns(Text, "c_first", "c_middle", "c_last"), address("c"),
		columns(Text, "c_phone"), columns(Time, "c_since"), columns(Text, "c_credit"), columns(Money, "c_credit_lim"),
		columns(Rate, "c_discount"), columns(Money, "c_balance", "c_ytd_payment"),
		columns(Int, "c_payment_cnt", "c_delivery_cnt"), columns(Text, "c_data")),
		[]string{"c_w_id", "c_d_id", "c_id"}, "c_w_id"},
	{"history", row(columns(Int, "h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id"), columns(Time, "h_date"),
		columns(Money, "h_amount"), columns(Text, "h_data")),
		nil, "h_w_id"},
	{"orders", row(columns(Int, "o_id", "o_d_id", "o_w_id", "o_c_id"), columns(Time, "o_entry_d"), nullable(Int, "o_carrier_id"),
		columns(Int, "o_ol_cnt", "o_all_local")),
		[]string{"o_w_id", "o_d_id", "o_id"}, "o_w_id"},
	{"new_order", columns(Int, "no_o_id", "no_d_id", "no_w_id"),
		[]string{"no_w_id", "no_d_id", "no_o_id"}, "no_w_id"},
	{"order_line", row(columns(Int, "ol_o_id", "ol_d_id", "ol_w_id", "ol_number", "ol_i_id", "ol_supply_w_id"),
		nullable(Time, "ol_delivery_d"), columns(Int, "ol_quantity"), columns(Money, "ol_amount"), columns(Text, "ol_dist_info")),
		[]string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number"}, "ol_w_id"},
	{"stock", row(columns(Int, "s_i_id", "s_w_id", "s_quantity"),
		columns(Text, "s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04", "s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08",
			"s_dist_09", "s_dist_10"),
		columns(Int, "s_ytd", "s_order_cnt", "s_remote_cnt"), columns(Text, "s_data")),
		[]string{"s_w_id", "s_i_id"}, "s_w_id"},
}
